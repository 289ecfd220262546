package rpc

import (
	"context"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
)

// The calls of the queue service. Without a cluster, and for a call that another node forwarded, this node executes the call.
// Otherwise the parts of the call go to the leaders of their shards.

// Enqueue implements the call.
func (s *Service) Enqueue(ctx context.Context, in *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
	if !s.router.Routes(ctx) {
		return s.enqueueHere(ctx, in)
	}
	if err := s.checkCall(ctx, access.Produce, in.GetTenant(), "tasks", len(in.GetTasks())); err != nil {
		return nil, err
	}
	enqueue := route.QueueCall(s.enqueueHere, queuepb.QueueServiceClient.Enqueue)
	results, err := route.Spread(ctx, s.router, &route.Batch[*queuepb.NewTask, *queuepb.EnqueueResult]{
		Shard: func(*queuepb.NewTask) int { return route.AnyShard },
		Call: func(ctx context.Context, at *route.Target, tasks []*queuepb.NewTask) ([]*queuepb.EnqueueResult, error) {
			out, err := enqueue.At(ctx, at, &queuepb.EnqueueRequest{Tenant: in.GetTenant(), Tasks: tasks})
			return out.GetResults(), err
		},
		ErrorOf: (*queuepb.EnqueueResult).GetError,
		Refused: func(e *queuepb.ItemError) *queuepb.EnqueueResult { return &queuepb.EnqueueResult{Error: e} },
	}, in.GetTasks())
	if err != nil {
		return nil, err
	}
	return &queuepb.EnqueueResponse{Results: results}, nil
}

// checkCall refuses a call that every node would refuse.
func (s *Service) checkCall(ctx context.Context, scopes access.Scopes, tenant, field string, items int) error {
	_, err := call.Tenant(ctx, scopes, tenant)
	if err == nil {
		err = call.FieldErr(s.limits.CheckBatch(field, items))
	}
	return call.Status(err)
}

// settleAll executes a settling call, each item at the leader of its shard. part returns the request for some of the items.
func settleAll[I item, Q any, R interface {
	GetResults() []*queuepb.SettleResult
}](ctx context.Context, s *Service, tenant, field string, items []I,
	settle route.Call[Q, R], part func([]I) Q,
) ([]*queuepb.SettleResult, error) {
	if err := s.checkCall(ctx, access.Work, tenant, field, len(items)); err != nil {
		return nil, err
	}
	return route.Spread(ctx, s.router, route.SettleBatch(I.GetId, func(ctx context.Context, at *route.Target, items []I) ([]*queuepb.SettleResult, error) {
		out, err := settle.At(ctx, at, part(items))
		return out.GetResults(), err
	}), items)
}

// Complete implements the call.
func (s *Service) Complete(ctx context.Context, in *queuepb.CompleteRequest) (*queuepb.CompleteResponse, error) {
	if !s.router.Routes(ctx) {
		return s.completeHere(ctx, in)
	}
	results, err := settleAll(ctx, s, in.GetTenant(), "completions", in.GetCompletions(),
		route.QueueCall(s.completeHere, queuepb.QueueServiceClient.Complete), func(items []*queuepb.Completion) *queuepb.CompleteRequest {
			return &queuepb.CompleteRequest{Tenant: in.GetTenant(), Completions: items}
		})
	return &queuepb.CompleteResponse{Results: results}, err
}

// Fail implements the call.
func (s *Service) Fail(ctx context.Context, in *queuepb.FailRequest) (*queuepb.FailResponse, error) {
	if !s.router.Routes(ctx) {
		return s.failHere(ctx, in)
	}
	results, err := settleAll(ctx, s, in.GetTenant(), "failures", in.GetFailures(),
		route.QueueCall(s.failHere, queuepb.QueueServiceClient.Fail), func(items []*queuepb.Failure) *queuepb.FailRequest {
			return &queuepb.FailRequest{Tenant: in.GetTenant(), Failures: items}
		})
	return &queuepb.FailResponse{Results: results}, err
}

// Extend implements the call.
func (s *Service) Extend(ctx context.Context, in *queuepb.ExtendRequest) (*queuepb.ExtendResponse, error) {
	if !s.router.Routes(ctx) {
		return s.extendHere(ctx, in)
	}
	results, err := settleAll(ctx, s, in.GetTenant(), "extensions", in.GetExtensions(),
		route.QueueCall(s.extendHere, queuepb.QueueServiceClient.Extend), func(items []*queuepb.Extension) *queuepb.ExtendRequest {
			return &queuepb.ExtendRequest{Tenant: in.GetTenant(), Extensions: items}
		})
	return &queuepb.ExtendResponse{Results: results}, err
}

// Release implements the call.
func (s *Service) Release(ctx context.Context, in *queuepb.ReleaseRequest) (*queuepb.ReleaseResponse, error) {
	if !s.router.Routes(ctx) {
		return s.releaseHere(ctx, in)
	}
	results, err := settleAll(ctx, s, in.GetTenant(), "releases", in.GetReleases(),
		route.QueueCall(s.releaseHere, queuepb.QueueServiceClient.Release), func(items []*queuepb.Releasing) *queuepb.ReleaseRequest {
			return &queuepb.ReleaseRequest{Tenant: in.GetTenant(), Releases: items}
		})
	return &queuepb.ReleaseResponse{Results: results}, err
}

// GetTask implements the call.
func (s *Service) GetTask(ctx context.Context, in *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
	n := s.elsewhereID(ctx, in.GetId())
	if n == route.AnyShard {
		return s.getTaskHere(ctx, in)
	}
	if _, err := call.Tenant(ctx, access.Produce|access.Work, in.GetTenant()); err != nil {
		return nil, call.Status(err)
	}
	return route.Follow(ctx, s.router, n, true, route.ForwardMax, route.QueueCall(s.getTaskHere, queuepb.QueueServiceClient.GetTask).Of(in))
}

// elsewhereID returns the shard whose leader has a task, or route.AnyShard if this node answers.
func (s *Service) elsewhereID(ctx context.Context, id string) int {
	if !s.router.Routes(ctx) {
		return route.AnyShard
	}
	n := route.ShardOfID(id)
	if n >= s.router.Shards() { // there is no such task
		n = route.AnyShard
	}
	return n
}

// AwaitResult implements the call. A wait goes on when its shard gets another leader.
func (s *Service) AwaitResult(ctx context.Context, in *queuepb.AwaitResultRequest) (*queuepb.AwaitResultResponse, error) {
	n := s.elsewhereID(ctx, in.GetId())
	if n == route.AnyShard {
		return s.awaitResultHere(ctx, in)
	}
	if _, err := call.Tenant(ctx, access.Produce, in.GetTenant()); err != nil {
		return nil, call.Status(err)
	}
	if err := s.checkWait(in.GetWaitMs()); err != nil {
		return nil, call.Status(err)
	}
	await, left := route.QueueCall(s.awaitResultHere, queuepb.QueueServiceClient.AwaitResult), untilOf(in.GetWaitMs())
	return route.Follow(ctx, s.router, n, true, 0, func(ctx context.Context, at *route.Target) (*queuepb.AwaitResultResponse, error) {
		return await.At(ctx, at, &queuepb.AwaitResultRequest{Tenant: in.GetTenant(), Id: in.GetId(), WaitMs: left()})
	})
}

var _ queuepb.QueueServiceServer = (*Service)(nil)

package rpc

import (
	"context"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
)

// The calls of the queue service. Without a cluster, and where another node handed a call on, they are carried out here.
// Otherwise their parts go to the nodes that lead the shards.

// Enqueue implements the call.
func (s *Service) Enqueue(ctx context.Context, in *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
	if !s.router.Routes(ctx) {
		return s.enqueueHere(ctx, in)
	}
	if err := s.checkCall(ctx, access.Produce, in.GetTenant(), "tasks", len(in.GetTasks())); err != nil {
		return nil, err
	}
	results, err := route.Spread(ctx, s.router, &route.Batch[*queuepb.NewTask, *queuepb.EnqueueResult]{
		Shard: func(*queuepb.NewTask) int { return route.AnyShard },
		Call: func(ctx context.Context, at *route.Target, tasks []*queuepb.NewTask) ([]*queuepb.EnqueueResult, error) {
			part := &queuepb.EnqueueRequest{Tenant: in.GetTenant(), Tasks: tasks}
			if at.Local() {
				out, err := s.enqueueHere(ctx, part)
				return out.GetResults(), err
			}
			out, err := at.Queues().Enqueue(ctx, part)
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

// checkCall refuses a call that no node would take.
func (s *Service) checkCall(ctx context.Context, scopes access.Scopes, tenant, field string, items int) error {
	_, err := call.Tenant(ctx, scopes, tenant)
	if err == nil {
		err = call.FieldErr(s.limits.CheckBatch(field, items))
	}
	return call.Status(err)
}

// settleAll carries a settling call out.
func settleAll[I item](ctx context.Context, s *Service, tenant, field string, items []I,
	call func(context.Context, *route.Target, []I) ([]*queuepb.SettleResult, error),
) ([]*queuepb.SettleResult, error) {
	if err := s.checkCall(ctx, access.Work, tenant, field, len(items)); err != nil {
		return nil, err
	}
	return route.Spread(ctx, s.router, route.SettleBatch(I.GetId, call), items)
}

// Complete implements the call.
func (s *Service) Complete(ctx context.Context, in *queuepb.CompleteRequest) (*queuepb.CompleteResponse, error) {
	if !s.router.Routes(ctx) {
		return s.completeHere(ctx, in)
	}
	results, err := settleAll(ctx, s, in.GetTenant(), "completions", in.GetCompletions(),
		func(ctx context.Context, at *route.Target, items []*queuepb.Completion) ([]*queuepb.SettleResult, error) {
			part := &queuepb.CompleteRequest{Tenant: in.GetTenant(), Completions: items}
			if at.Local() {
				out, err := s.completeHere(ctx, part)
				return out.GetResults(), err
			}
			out, err := at.Queues().Complete(ctx, part)
			return out.GetResults(), err
		})
	return &queuepb.CompleteResponse{Results: results}, err
}

// Fail implements the call.
func (s *Service) Fail(ctx context.Context, in *queuepb.FailRequest) (*queuepb.FailResponse, error) {
	if !s.router.Routes(ctx) {
		return s.failHere(ctx, in)
	}
	results, err := settleAll(ctx, s, in.GetTenant(), "failures", in.GetFailures(),
		func(ctx context.Context, at *route.Target, items []*queuepb.Failure) ([]*queuepb.SettleResult, error) {
			part := &queuepb.FailRequest{Tenant: in.GetTenant(), Failures: items}
			if at.Local() {
				out, err := s.failHere(ctx, part)
				return out.GetResults(), err
			}
			out, err := at.Queues().Fail(ctx, part)
			return out.GetResults(), err
		})
	return &queuepb.FailResponse{Results: results}, err
}

// Extend implements the call.
func (s *Service) Extend(ctx context.Context, in *queuepb.ExtendRequest) (*queuepb.ExtendResponse, error) {
	if !s.router.Routes(ctx) {
		return s.extendHere(ctx, in)
	}
	results, err := settleAll(ctx, s, in.GetTenant(), "extensions", in.GetExtensions(),
		func(ctx context.Context, at *route.Target, items []*queuepb.Extension) ([]*queuepb.SettleResult, error) {
			part := &queuepb.ExtendRequest{Tenant: in.GetTenant(), Extensions: items}
			if at.Local() {
				out, err := s.extendHere(ctx, part)
				return out.GetResults(), err
			}
			out, err := at.Queues().Extend(ctx, part)
			return out.GetResults(), err
		})
	return &queuepb.ExtendResponse{Results: results}, err
}

// Release implements the call.
func (s *Service) Release(ctx context.Context, in *queuepb.ReleaseRequest) (*queuepb.ReleaseResponse, error) {
	if !s.router.Routes(ctx) {
		return s.releaseHere(ctx, in)
	}
	results, err := settleAll(ctx, s, in.GetTenant(), "releases", in.GetReleases(),
		func(ctx context.Context, at *route.Target, items []*queuepb.Releasing) ([]*queuepb.SettleResult, error) {
			part := &queuepb.ReleaseRequest{Tenant: in.GetTenant(), Releases: items}
			if at.Local() {
				out, err := s.releaseHere(ctx, part)
				return out.GetResults(), err
			}
			out, err := at.Queues().Release(ctx, part)
			return out.GetResults(), err
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
	return route.Follow(ctx, s.router, n, true, route.ForwardMax, func(ctx context.Context, at *route.Target) (*queuepb.GetTaskResponse, error) {
		if at.Local() {
			return s.getTaskHere(ctx, in)
		}
		return at.Queues().GetTask(ctx, in)
	})
}

// elsewhereID returns the shard of a task that a node of a cluster is to be asked for; anyShard if it is this one.
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
	left := untilOf(in.GetWaitMs())
	return route.Follow(ctx, s.router, n, true, 0, func(ctx context.Context, at *route.Target) (*queuepb.AwaitResultResponse, error) {
		part := &queuepb.AwaitResultRequest{Tenant: in.GetTenant(), Id: in.GetId(), WaitMs: left()}
		if at.Local() {
			return s.awaitResultHere(ctx, part)
		}
		return at.Queues().AwaitResult(ctx, part)
	})
}

var _ queuepb.QueueServiceServer = (*Service)(nil)

package rpc

import (
	"context"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queuepb"
)

// The calls of the queue service. Without a cluster, and where another node handed a call on, they are carried out here.
// Otherwise their parts go to the nodes that lead the shards.

// Enqueue implements the call.
func (s *Service) Enqueue(ctx context.Context, in *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
	if !s.router.routes(ctx) {
		return s.enqueueHere(ctx, in)
	}
	if err := s.checkCall(ctx, access.Produce, in.GetTenant(), "tasks", len(in.GetTasks())); err != nil {
		return nil, err
	}
	results, err := spread(ctx, s.router, &batch[*queuepb.NewTask, *queuepb.EnqueueResult]{
		shard: func(*queuepb.NewTask) int { return anyShard },
		call: func(ctx context.Context, at *site, tasks []*queuepb.NewTask) ([]*queuepb.EnqueueResult, error) {
			part := &queuepb.EnqueueRequest{Tenant: in.GetTenant(), Tasks: tasks}
			if at.here() {
				out, err := s.enqueueHere(ctx, part)
				return out.GetResults(), err
			}
			out, err := at.queues().Enqueue(ctx, part)
			return out.GetResults(), err
		},
		errorOf: (*queuepb.EnqueueResult).GetError,
		refused: func(e *queuepb.ItemError) *queuepb.EnqueueResult { return &queuepb.EnqueueResult{Error: e} },
	}, in.GetTasks())
	if err != nil {
		return nil, err
	}
	return &queuepb.EnqueueResponse{Results: results}, nil
}

// checkCall refuses a call that no node would take.
func (s *Service) checkCall(ctx context.Context, scopes access.Scopes, tenant, field string, items int) error {
	_, err := tenantOf(ctx, scopes, tenant)
	if err == nil {
		err = fieldErr(s.limits.CheckBatch(field, items))
	}
	return statusOf(err)
}

// settleBatch is a call on tasks that are named by their ids.
func settleBatch[I any](id func(I) string, call func(context.Context, *site, []I) ([]*queuepb.SettleResult, error)) *batch[I, *queuepb.SettleResult] {
	return &batch[I, *queuepb.SettleResult]{
		shard:   func(m I) int { return shardOfID(id(m)) },
		call:    call,
		errorOf: (*queuepb.SettleResult).GetError,
		refused: func(e *queuepb.ItemError) *queuepb.SettleResult { return &queuepb.SettleResult{Error: e} },
	}
}

// settleAll carries a settling call out.
func settleAll[I item](ctx context.Context, s *Service, tenant, field string, items []I,
	call func(context.Context, *site, []I) ([]*queuepb.SettleResult, error),
) ([]*queuepb.SettleResult, error) {
	if err := s.checkCall(ctx, access.Work, tenant, field, len(items)); err != nil {
		return nil, err
	}
	return spread(ctx, s.router, settleBatch(I.GetId, call), items)
}

// Complete implements the call.
func (s *Service) Complete(ctx context.Context, in *queuepb.CompleteRequest) (*queuepb.CompleteResponse, error) {
	if !s.router.routes(ctx) {
		return s.completeHere(ctx, in)
	}
	results, err := settleAll(ctx, s, in.GetTenant(), "completions", in.GetCompletions(),
		func(ctx context.Context, at *site, items []*queuepb.Completion) ([]*queuepb.SettleResult, error) {
			part := &queuepb.CompleteRequest{Tenant: in.GetTenant(), Completions: items}
			if at.here() {
				out, err := s.completeHere(ctx, part)
				return out.GetResults(), err
			}
			out, err := at.queues().Complete(ctx, part)
			return out.GetResults(), err
		})
	return &queuepb.CompleteResponse{Results: results}, err
}

// Fail implements the call.
func (s *Service) Fail(ctx context.Context, in *queuepb.FailRequest) (*queuepb.FailResponse, error) {
	if !s.router.routes(ctx) {
		return s.failHere(ctx, in)
	}
	results, err := settleAll(ctx, s, in.GetTenant(), "failures", in.GetFailures(),
		func(ctx context.Context, at *site, items []*queuepb.Failure) ([]*queuepb.SettleResult, error) {
			part := &queuepb.FailRequest{Tenant: in.GetTenant(), Failures: items}
			if at.here() {
				out, err := s.failHere(ctx, part)
				return out.GetResults(), err
			}
			out, err := at.queues().Fail(ctx, part)
			return out.GetResults(), err
		})
	return &queuepb.FailResponse{Results: results}, err
}

// Extend implements the call.
func (s *Service) Extend(ctx context.Context, in *queuepb.ExtendRequest) (*queuepb.ExtendResponse, error) {
	if !s.router.routes(ctx) {
		return s.extendHere(ctx, in)
	}
	results, err := settleAll(ctx, s, in.GetTenant(), "extensions", in.GetExtensions(),
		func(ctx context.Context, at *site, items []*queuepb.Extension) ([]*queuepb.SettleResult, error) {
			part := &queuepb.ExtendRequest{Tenant: in.GetTenant(), Extensions: items}
			if at.here() {
				out, err := s.extendHere(ctx, part)
				return out.GetResults(), err
			}
			out, err := at.queues().Extend(ctx, part)
			return out.GetResults(), err
		})
	return &queuepb.ExtendResponse{Results: results}, err
}

// Release implements the call.
func (s *Service) Release(ctx context.Context, in *queuepb.ReleaseRequest) (*queuepb.ReleaseResponse, error) {
	if !s.router.routes(ctx) {
		return s.releaseHere(ctx, in)
	}
	results, err := settleAll(ctx, s, in.GetTenant(), "releases", in.GetReleases(),
		func(ctx context.Context, at *site, items []*queuepb.Releasing) ([]*queuepb.SettleResult, error) {
			part := &queuepb.ReleaseRequest{Tenant: in.GetTenant(), Releases: items}
			if at.here() {
				out, err := s.releaseHere(ctx, part)
				return out.GetResults(), err
			}
			out, err := at.queues().Release(ctx, part)
			return out.GetResults(), err
		})
	return &queuepb.ReleaseResponse{Results: results}, err
}

// GetTask implements the call.
func (s *Service) GetTask(ctx context.Context, in *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
	n := s.elsewhereID(ctx, in.GetId())
	if n == anyShard {
		return s.getTaskHere(ctx, in)
	}
	if _, err := tenantOf(ctx, access.Produce|access.Work, in.GetTenant()); err != nil {
		return nil, statusOf(err)
	}
	return follow(ctx, s.router, n, true, forwardMax, func(ctx context.Context, at *site) (*queuepb.GetTaskResponse, error) {
		if at.here() {
			return s.getTaskHere(ctx, in)
		}
		return at.queues().GetTask(ctx, in)
	})
}

// elsewhereID returns the shard of a task that a node of a cluster is to be asked for; anyShard if it is this one.
func (s *Service) elsewhereID(ctx context.Context, id string) int {
	if !s.router.routes(ctx) {
		return anyShard
	}
	n := shardOfID(id)
	if n >= s.router.shards { // there is no such task
		n = anyShard
	}
	return n
}

// AwaitResult implements the call. A wait goes on when its shard gets another leader.
func (s *Service) AwaitResult(ctx context.Context, in *queuepb.AwaitResultRequest) (*queuepb.AwaitResultResponse, error) {
	n := s.elsewhereID(ctx, in.GetId())
	if n == anyShard {
		return s.awaitResultHere(ctx, in)
	}
	if _, err := tenantOf(ctx, access.Produce, in.GetTenant()); err != nil {
		return nil, statusOf(err)
	}
	if err := s.checkWait(in.GetWaitMs()); err != nil {
		return nil, statusOf(err)
	}
	left := untilOf(in.GetWaitMs())
	return follow(ctx, s.router, n, true, 0, func(ctx context.Context, at *site) (*queuepb.AwaitResultResponse, error) {
		part := &queuepb.AwaitResultRequest{Tenant: in.GetTenant(), Id: in.GetId(), WaitMs: left()}
		if at.here() {
			return s.awaitResultHere(ctx, part)
		}
		return at.queues().AwaitResult(ctx, part)
	})
}

var _ queuepb.QueueServiceServer = (*Service)(nil)

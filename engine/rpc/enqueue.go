package rpc

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/internal/recycle"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

// Enqueue implements queuepb.QueueServiceServer.
func (s *Service) Enqueue(ctx context.Context, in *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
	tenant, err := s.enter(ctx, access.Produce, in.GetTenant(), "tasks", len(in.GetTasks()))
	if err != nil {
		return nil, err
	}
	if !s.router.Routes(ctx) {
		return s.enqueueHere(ctx, tenant, in.GetTasks())
	}
	enqueue := route.QueueCall(func(ctx context.Context, in *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
		return s.enqueueHere(ctx, tenant, in.GetTasks())
	}, queuepb.QueueServiceClient.Enqueue)
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

func (s *Service) enqueueHere(ctx context.Context, tenant string, in []*queuepb.NewTask) (*queuepb.EnqueueResponse, error) {
	if err := s.takeEnqueues(ctx, tenant, in); err != nil {
		return nil, s.refuse(err)
	}
	tasks, errs := s.newTasks(tenant, in)
	ids := make([]string, len(in))
	var results []queue.Enqueued
	if len(tasks.Items) > 0 {
		var err error
		results, err = shard.AwaitReply(ctx, func(reply func([]queue.Enqueued, error)) error {
			return s.shards.Enqueue(tenant, tasks.Items, reply)
		})
		s.returnEnqueues(tenant, len(tasks.Items), results, err)
		if err != nil {
			return nil, s.refuse(err)
		}
		writeIDs(results, tasks, ids)
		errs = s.appendEnqueueErrors(errs, results, tasks)
	}
	out := &queuepb.EnqueueResponse{Results: make([]*queuepb.EnqueueResult, len(ids))}
	for i, id := range ids {
		out.Results[i] = &queuepb.EnqueueResult{Id: id}
	}
	for i := range results {
		out.Results[tasks.Place(i)].Duplicate = results[i].Duplicate
	}
	for _, e := range errs {
		out.Results[e.GetIndex()].Error = e
	}
	return out, nil
}

// takeEnqueues charges tasks to the tenant's rate limit. It first waits, for a bounded time, until
// this node's share of the quotas has room for the tasks.
func (s *Service) takeEnqueues(ctx context.Context, tenant string, tasks []*queuepb.NewTask) error {
	s.quotas.AwaitRoom(ctx, tenant, len(tasks), func() (bytes int64) {
		for _, t := range tasks {
			bytes += queue.TaskBytes(len(t.GetPayload()) + queue.HeadersBytes(t.GetHeaders()))
		}
		return bytes
	}, 0)
	return s.quotas.TakeEnqueues(tenant, len(tasks))
}

// returnEnqueues undoes the charge of takeEnqueues for tasks whose shards other nodes lead. Those
// nodes charge the tasks again.
func (s *Service) returnEnqueues(tenant string, tasks int, results []queue.Enqueued, err error) {
	if s.router == nil {
		return
	}
	elsewhere := 0
	if call.IsMisrouted(err) {
		elsewhere = tasks
	}
	for i := range results {
		if call.IsMisrouted(results[i].Err) {
			elsewhere++
		}
	}
	if elsewhere > 0 {
		s.quotas.ReturnEnqueues(tenant, elsewhere)
	}
}

func (s *Service) appendEnqueueErrors(errs []*queuepb.ItemError, results []queue.Enqueued, tasks call.Part[queue.NewTask]) []*queuepb.ItemError {
	for i := range results {
		if err := results[i].Err; err != nil {
			if errors.Is(err, queue.ErrKeyTaken) {
				err = fmt.Errorf("%w: %s", err, queue.ID{Shard: results[i].Shard, Ref: results[i].Ref})
			}
			errs = append(errs, s.refuseItem(tasks.Place(i), err))
		}
	}
	return errs
}

// scopeOf converts the scope of a message. MakeUnique refuses an unknown one.
func scopeOf(scope queuepb.UniqueScope) queue.Scope {
	if scope == queuepb.UniqueScope_UNIQUE_SCOPE_UNSPECIFIED {
		return queue.ForATime
	}
	return queue.Scope(min(uint32(scope), math.MaxUint8))
}

// conflictOf converts the conflict of a message. MakeUnique refuses an unknown one.
func conflictOf(conflict queuepb.UniqueConflict) queue.Conflict {
	if conflict == queuepb.UniqueConflict_UNIQUE_CONFLICT_UNSPECIFIED {
		return queue.First
	}
	return queue.Conflict(min(uint32(conflict)-1, math.MaxUint8))
}

// deadDependencyOf converts the policy of a message. Depend refuses an unknown one.
func deadDependencyOf(dead queuepb.DeadDependency) queue.DeadDependency {
	if dead == queuepb.DeadDependency_DEAD_DEPENDENCY_UNSPECIFIED {
		return queue.WaitForDead
	}
	return queue.DeadDependency(min(uint32(dead)-1, math.MaxUint8))
}

// depends reports whether a new task waits for others, or is a member of a batch.
func depends(t *queuepb.NewTask) bool {
	return len(t.GetAfter()) > 0 || t.GetBatchSize() > 0 || t.GetBatch() != "" || t.GetDeadDependency() != 0
}

var spareTasks recycle.Pool[queue.NewTask]

// newTasks converts and validates the tasks of one call. It omits invalid tasks and returns an
// error for each of them.
func (s *Service) newTasks(tenant string, in []*queuepb.NewTask) (tasks call.Part[queue.NewTask], errs []*queuepb.ItemError) {
	now, payloadMax := s.shards.NowMs(), s.quotas.PayloadBytesMax(tenant)
	tasks.Items = spareTasks.Take(len(in))[:0]
	for i, t := range in {
		n := tasks.Next(i)
		*n = queue.NewTask{
			Queue: t.GetQueue(), Priority: uint8(min(t.GetPriority(), 255)), Payload: t.GetPayload(),
			DelayMs: t.GetDelayMs(), NotBeforeMs: t.GetNotBeforeMs(), MaxAttempts: t.GetMaxAttempts(), LeaseMs: t.GetLeaseMs(),
			TTLMs: t.GetTtlMs(), RetentionMs: t.GetResultRetentionMs(), Key: t.GetIdempotencyKey(),
		}
		if b := t.GetBackoff(); b != nil {
			n.Backoff = call.BackoffOf(b)
		}
		var err error
		if depends(t) {
			err = call.FieldErr(n.Depend(t.GetAfter(), t.GetBatchSize(), t.GetBatch(), deadDependencyOf(t.GetDeadDependency())))
		}
		if err == nil {
			err = call.FieldErr(s.limits.CheckTask(now, n, t.GetPriority()))
		}
		if u := t.GetUnique(); err == nil && u != nil {
			err = call.FieldErr(n.MakeUnique(scopeOf(u.GetScope()), u.GetWindowMs(), conflictOf(u.GetConflict())))
		}
		if err == nil && len(n.Payload) > payloadMax {
			err = s.quotas.CheckPayload(tenant, len(n.Payload))
		}
		if headers := t.GetHeaders(); err == nil && len(headers) > 0 {
			if err = call.FieldErr(queue.CheckHeaders(headers)); err == nil {
				n.AddHeaders(headers)
			}
		}
		if err != nil {
			tasks.DropLast()
			errs = append(errs, call.ItemError(i, err))
		}
	}
	return tasks, errs
}

// writeIDs writes the ids of accepted tasks into out. It allocates memory once for all of them.
func writeIDs(results []queue.Enqueued, tasks call.Part[queue.NewTask], out []string) {
	var ids queue.IDTexts
	text := make([]byte, 0, len(results)*queue.IDLen)
	for i := range results {
		text = ids.Append(text, queue.ID{Shard: results[i].Shard, Ref: results[i].Ref})
	}
	all := string(text)
	for i := range results {
		if results[i].Err == nil {
			out[tasks.Place(i)] = all[i*queue.IDLen : (i+1)*queue.IDLen]
		}
	}
}

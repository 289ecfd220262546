package rpc

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

// awaitResultHere is the call on the shards that this node leads.
func (s *Service) awaitResultHere(ctx context.Context, in *queuepb.AwaitResultRequest) (*queuepb.AwaitResultResponse, error) {
	tenant, err := tenantOf(ctx, access.Produce, in.GetTenant())
	if err != nil {
		return nil, s.refuse(err)
	}
	id, err := queue.ParseID(in.GetId())
	if err != nil {
		return nil, s.refuse(idError(err))
	}
	if err := s.checkWait(in.GetWaitMs()); err != nil {
		return nil, s.refuse(err)
	}
	ended := make(chan answer[shard.Awaited], 1)
	cancel, err := s.shards.Await(tenant, id, func(a shard.Awaited, err error) { ended <- answer[shard.Awaited]{a, err} })
	if err != nil {
		return nil, s.refuse(err)
	}
	refused := s.awaitEnd(ctx, ended, time.Duration(in.GetWaitMs())*time.Millisecond)
	cancel()
	if err := cmp.Or(refused, ctx.Err()); err != nil {
		return nil, s.refuse(err)
	}
	var a answer[shard.Awaited]
	select {
	case a = <-ended: // the current state of the task, if it did not end; a shard that stops answers all waiting calls
	case <-tokenEnded(ctx):
		return nil, s.refuse(access.ErrEnded)
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	if a.err != nil {
		return nil, s.refuse(a.err)
	}
	return &queuepb.AwaitResultResponse{
		State: taskStates[a.value.State], Result: a.value.Result.Value, LastError: a.value.LastError,
		CompletedAtMs: a.value.Result.CompletedAtMs, RetainedUntilMs: a.value.Result.RetainedUntilMs,
	}, nil
}

// checkWait refuses too long a wait.
func (s *Service) checkWait(ms uint64) error {
	if ms > s.limits.WaitMsMax {
		return &queue.FieldError{Field: "wait_ms", Problem: fmt.Sprintf("%d is above %d", ms, s.limits.WaitMsMax)}
	}
	return nil
}

// awaitEnd returns when there is an answer, or no time to wait for one.
func (s *Service) awaitEnd(ctx context.Context, ended chan answer[shard.Awaited], most time.Duration) error {
	wait := time.NewTimer(most)
	defer wait.Stop()
	select {
	case a := <-ended:
		ended <- a // it has room
	case <-wait.C:
	case <-s.stopping:
	case <-tokenEnded(ctx):
		return access.ErrEnded
	case <-ctx.Done():
	}
	return nil
}

// taskStates are the states as the wire has them.
var taskStates = map[shard.TaskState]queuepb.TaskState{
	shard.Ready:   queuepb.TaskState_TASK_STATE_READY,
	shard.Delayed: queuepb.TaskState_TASK_STATE_DELAYED,
	shard.Leased:  queuepb.TaskState_TASK_STATE_LEASED,
	shard.Done:    queuepb.TaskState_TASK_STATE_DONE,
	shard.Dead:    queuepb.TaskState_TASK_STATE_DEAD,
}

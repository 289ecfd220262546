package rpc

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
)

// awaitResultHere is the call on the shards that this node leads.
func (s *Service) awaitResultHere(ctx context.Context, in *queuepb.AwaitResultRequest) (*queuepb.AwaitResultResponse, error) {
	tenant, err := call.Tenant(ctx, access.Produce, in.GetTenant())
	if err != nil {
		return nil, s.refuse(err)
	}
	id, err := queue.ParseID(in.GetId())
	if err != nil {
		return nil, s.refuse(call.IDError(err))
	}
	if err := s.checkWait(in.GetWaitMs()); err != nil {
		return nil, s.refuse(err)
	}
	ended := make(chan call.Answer[shard.Awaited], 1)
	cancel, err := s.shards.Await(tenant, id, func(a shard.Awaited, err error) { ended <- call.Answer[shard.Awaited]{Value: a, Err: err} })
	if err != nil {
		return nil, s.refuse(err)
	}
	refused := s.awaitEnd(ctx, ended, time.Duration(in.GetWaitMs())*time.Millisecond)
	cancel()
	if err := cmp.Or(refused, ctx.Err()); err != nil {
		return nil, s.refuse(err)
	}
	var a call.Answer[shard.Awaited]
	select {
	case a = <-ended: // the current state of the task, if it did not end; a shard that stops answers all waiting calls
	case <-call.TokenEnded(ctx):
		return nil, s.refuse(access.ErrEnded)
	case <-ctx.Done():
		a.Err = ctx.Err()
	}
	if a.Err != nil {
		return nil, s.refuse(a.Err)
	}
	return &queuepb.AwaitResultResponse{
		State: call.TaskStates[a.Value.State], Result: a.Value.Result.Value, LastError: a.Value.LastError,
		CompletedAtMs: a.Value.Result.CompletedAtMs, RetainedUntilMs: a.Value.Result.RetainedUntilMs,
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
func (s *Service) awaitEnd(ctx context.Context, ended chan call.Answer[shard.Awaited], most time.Duration) error {
	wait := time.NewTimer(most)
	defer wait.Stop()
	select {
	case a := <-ended:
		ended <- a // it has room
	case <-wait.C:
	case <-s.stopping:
	case <-call.TokenEnded(ctx):
		return access.ErrEnded
	case <-ctx.Done():
	}
	return nil
}

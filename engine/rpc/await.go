package rpc

import (
	"cmp"
	"context"
	"time"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

// GetTask implements queuepb.QueueServiceServer.
func (s *Service) GetTask(ctx context.Context, in *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
	tenant, id, err := enterTask(ctx, access.Produce|access.Work, in)
	if err != nil {
		return nil, err
	}
	here := func(ctx context.Context, _ *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
		found, err := shard.AwaitReply(ctx, func(reply func(shard.Found, error)) error { return s.shards.Lookup(tenant, id, reply) })
		if err != nil {
			return nil, s.refuse(err)
		}
		return &queuepb.GetTaskResponse{Task: call.TaskMessage(tenant, id, found)}, nil
	}
	if !s.router.Routes(ctx) {
		return here(ctx, in)
	}
	return route.Follow(ctx, s.router, int(id.Shard), true, route.ForwardMax, route.QueueCall(here, queuepb.QueueServiceClient.GetTask).Of(in))
}

// AwaitResult implements queuepb.QueueServiceServer. If another node becomes the shard's leader,
// the call continues to wait there.
func (s *Service) AwaitResult(ctx context.Context, in *queuepb.AwaitResultRequest) (*queuepb.AwaitResultResponse, error) {
	tenant, id, err := enterTask(ctx, access.Produce, in)
	if err != nil {
		return nil, err
	}
	if err := call.FieldErr(s.limits.CheckWait(in.GetWaitMs())); err != nil {
		return nil, call.Status(err)
	}
	here := func(ctx context.Context, in *queuepb.AwaitResultRequest) (*queuepb.AwaitResultResponse, error) {
		return s.awaitResultHere(ctx, tenant, id, time.Duration(in.GetWaitMs())*time.Millisecond)
	}
	if !s.router.Routes(ctx) {
		return here(ctx, in)
	}
	await, left := route.QueueCall(here, queuepb.QueueServiceClient.AwaitResult), untilOf(in.GetWaitMs())
	return route.Follow(ctx, s.router, int(id.Shard), true, 0, func(ctx context.Context, at *route.Target) (*queuepb.AwaitResultResponse, error) {
		return await.At(ctx, at, &queuepb.AwaitResultRequest{Tenant: in.GetTenant(), Id: in.GetId(), WaitMs: left()})
	})
}

func (s *Service) awaitResultHere(ctx context.Context, tenant string, id queue.ID, most time.Duration) (*queuepb.AwaitResultResponse, error) {
	ended := make(chan shard.Reply[shard.Awaited], 1)
	cancel, err := s.shards.Await(tenant, id, func(a shard.Awaited, err error) { ended <- shard.Reply[shard.Awaited]{Value: a, Err: err} })
	if err != nil {
		return nil, s.refuse(err)
	}
	refused := s.awaitEnd(ctx, ended, most)
	cancel()
	if err := cmp.Or(refused, ctx.Err()); err != nil {
		return nil, s.refuse(err)
	}
	var a shard.Reply[shard.Awaited]
	select {
	// A stopping shard answers all waiting calls. If the task has not ended, the answer has its
	// current state.
	case a = <-ended:
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

// awaitEnd waits until ended has an answer, most has passed, or the call must end for another
// reason.
func (s *Service) awaitEnd(ctx context.Context, ended chan shard.Reply[shard.Awaited], most time.Duration) error {
	wait := time.NewTimer(most)
	defer wait.Stop()
	select {
	case a := <-ended:
		ended <- a // the channel has room
	case <-wait.C:
	case <-s.stopping:
	case <-call.TokenEnded(ctx):
		return access.ErrEnded
	case <-ctx.Done():
	}
	return nil
}

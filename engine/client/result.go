package client

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

// awaitOnce makes one call. In a cluster it bounds the call's time, since a node may hang.
func (c *Client) awaitOnce(ctx context.Context, wait time.Duration, in *queuepb.AwaitResultRequest) (*queuepb.AwaitResultResponse, error) {
	if c.only.Load() == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait+c.timing.answerMax)
		defer cancel()
	}
	return c.api.AwaitResult(ctx, in)
}

// AwaitResult waits until a task is done or dead, or until ctx ends. The answer's state is DONE or
// DEAD; a done task has its result while the server retains it. The wait continues after a restart
// or a failover, unless no server answers for the time of WithRetryMax. The error is ErrNotFound if
// the server does not know the task, or no longer knows it, and for a done task whose result is not
// retained. tenant is "" for the token's tenant.
func (c *Client) AwaitResult(ctx context.Context, tenant, id string) (*queuepb.AwaitResultResponse, error) {
	for {
		wait := c.timing.resultWait
		if deadline, ok := ctx.Deadline(); ok {
			wait = min(wait, max(0, time.Until(deadline)))
		}
		r, err := c.awaitOnce(ctx, wait, &queuepb.AwaitResultRequest{Tenant: tenant, Id: id, WaitMs: uint64(wait.Milliseconds())})
		if err != nil {
			if c.only.Load() == nil && ctx.Err() == nil && status.Code(err) == codes.DeadlineExceeded {
				c.switchPeer()
				continue
			}
			if status.Code(err) == codes.NotFound {
				return nil, fmt.Errorf("%w: %s", ErrNotFound, status.Convert(err).Message())
			}
			return nil, fmt.Errorf("await the result of task %s: %w", id, err)
		}
		switch r.GetState() {
		case queuepb.TaskState_TASK_STATE_DONE, queuepb.TaskState_TASK_STATE_DEAD:
			return r, nil
		default: // continue to wait
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

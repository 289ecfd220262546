package client

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

// awaitOnce asks once. Of a cluster, a node that hangs is not waited for much longer than it was asked to wait.
func (c *Client) awaitOnce(ctx context.Context, wait time.Duration, in *queuepb.AwaitResultRequest) (*queuepb.AwaitResultResponse, error) {
	if c.only.Load() == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait+c.rhythm.answerMax)
		defer cancel()
	}
	return c.api.AwaitResult(ctx, in)
}

// AwaitResult waits until a task is done or dead, or ctx ends. The answer's state says which; a done task has its
// result while that is kept. In a cluster it goes on waiting through a failover, for as long as WithRetryMax says without
// an answer. The error is ErrNotFound if nothing is known of the task, or no longer, and for a done
// task whose result is not kept. tenant is "" for the token's.
func (c *Client) AwaitResult(ctx context.Context, tenant, id string) (*queuepb.AwaitResultResponse, error) {
	for {
		wait := c.rhythm.resultWait
		if deadline, ok := ctx.Deadline(); ok {
			wait = min(wait, max(0, time.Until(deadline)))
		}
		r, err := c.awaitOnce(ctx, wait, &queuepb.AwaitResultRequest{Tenant: tenant, Id: id, WaitMs: uint64(wait.Milliseconds())})
		if err != nil {
			if c.only.Load() == nil && ctx.Err() == nil && status.Code(err) == codes.DeadlineExceeded {
				c.turnAway()
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
		default: // it goes on
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

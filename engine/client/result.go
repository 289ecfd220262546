package client

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

// once makes one call, which waits up to the given time. In a cluster it limits the time of the call,
// since a node may hang. If the node did not answer in time, switched is true, and the next call goes
// to another node.
func once[Q, R any](ctx context.Context, c *Client, wait time.Duration, call func(context.Context, Q, ...grpc.CallOption) (R, error), in Q) (out R, switched bool, err error) {
	if c.only.Load() != nil {
		out, err = call(ctx, in)
		return out, false, err
	}
	bounded, cancel := context.WithTimeout(ctx, wait+c.timing.answerMax)
	defer cancel()
	out, err = call(bounded, in)
	if switched = ctx.Err() == nil && status.Code(err) == codes.DeadlineExceeded; switched {
		c.switchPeer()
	}
	return out, switched, err
}

// AwaitResult waits until a task is done or dead, or until ctx ends. The answer's state is DONE or
// DEAD. For a done task, the answer contains the result while the server retains it. The wait
// continues after a restart or a failover, unless no server answers for the time of WithRetryMax.
// The error is ErrNotFound if the server never had the task or has forgotten it. The same applies
// to a done task whose result the server does not retain. If tenant is "", it is the token's
// tenant.
func (c *Client) AwaitResult(ctx context.Context, tenant, id string) (*queuepb.AwaitResultResponse, error) {
	for {
		wait := c.timing.resultWait
		if deadline, ok := ctx.Deadline(); ok {
			wait = min(wait, max(0, time.Until(deadline)))
		}
		r, switched, err := once(ctx, c, wait, c.api.AwaitResult, &queuepb.AwaitResultRequest{Tenant: tenant, Id: id, WaitMs: uint64(wait.Milliseconds())})
		if switched {
			continue
		}
		if err != nil {
			if status.Code(err) == codes.NotFound {
				return nil, fmt.Errorf("%w: %s", ErrNotFound, status.Convert(err).Message())
			}
			return nil, fmt.Errorf("await the result of task %s: %w", id, err)
		}
		switch r.GetState() {
		case queuepb.TaskState_TASK_STATE_DONE, queuepb.TaskState_TASK_STATE_DEAD:
			return r, nil
		default: // the task has not ended: wait again
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

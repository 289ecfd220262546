package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"

	"github.com/pronybench/prony/harness/driver"
)

// completeWith completes deliveries of which some have results. A call of the client can send one
// result, so completeWith makes one call for each delivery. The client combines the calls of a
// batch.
func (w worker) completeWith(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	results := make(map[*queuepb.Task][]byte, len(deliveries))
	for i := range deliveries {
		if t, ok := deliveries[i].Handle.(*queuepb.Task); ok {
			results[t] = deliveries[i].Result
		}
	}
	return each(deliveries, outcomes, func(t *queuepb.Task) error { return w.w.CompleteWith(ctx, t, results[t]) })
}

// Result implements driver.Returner.
func (w worker) Result(ctx context.Context, completed *driver.Delivery) ([]byte, error) {
	t, ok := completed.Handle.(*queuepb.Task)
	if !ok {
		return nil, notClaimed(completed)
	}
	within, cancel := context.WithTimeout(ctx, driver.ResultWait)
	defer cancel()
	answer, err := w.client.AwaitResult(within, w.tenant, t.GetId())
	switch {
	case err == nil:
		return answer.GetResult(), driver.CheckDone(answer.GetState().String())
	case errors.Is(err, client.ErrNotFound), within.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("%w: %w", driver.ErrNotFound, err)
	}
	return nil, err
}

package peer

import (
	"context"
	"errors"

	"github.com/pronybench/prony/harness/driver"
)

// Claim implements driver.Worker.Claim for a client whose library pushes tasks. It waits for the
// first task in claimed, and also takes the tasks that are already there, up to len(into). It
// returns an error when ctx is done or over is closed.
func Claim[T any](ctx context.Context, claimed <-chan T, over <-chan struct{}, into []driver.Delivery, delivery func(T) driver.Delivery) (int, error) {
	select {
	case c := <-claimed:
		into[0] = delivery(c)
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-over:
		return 0, errors.New("the connection is closed")
	}
	for n := 1; n < len(into); n++ {
		select {
		case c := <-claimed:
			into[n] = delivery(c)
		default:
			return n, nil
		}
	}
	return len(into), nil
}

package load

import (
	"context"
	"sync/atomic"
	"time"
)

// inFlightLimit bounds the number of tasks of a closed load that are sent and not completed. It
// counts in whole batches. Producers wait for the limit, so that no backlog grows if the workers
// are slower than the producers.
type inFlightLimit struct {
	batch  int64
	free   chan struct{} // one element for each batch that may be sent
	done   atomic.Int64  // tasks settled since the limit was created or begin was last called
	over   chan struct{} // closed at the window's end; replaced by begin
	finish *time.Timer   // nil before the window's end is known
}

// newInFlightLimit returns a limit of inFlight tasks. Each take reserves one batch of the given
// size.
func newInFlightLimit(inFlight, batch int) *inFlightLimit {
	r := &inFlightLimit{batch: int64(batch), free: make(chan struct{}, inFlight/batch), over: make(chan struct{})}
	for range cap(r.free) {
		r.free <- struct{}{}
	}
	return r
}

// closeIn closes the limit after the given time, which must be the window's end. It is called once
// for each window.
func (r *inFlightLimit) closeIn(left time.Duration) {
	over := r.over
	r.finish = time.AfterFunc(left, func() { close(over) })
}

func (r *inFlightLimit) close() {
	if r.finish.Stop() {
		close(r.over)
	}
}

// begin resets the limit for another window, which ends after the given time. No task may be in
// flight, and no producer may wait.
func (r *inFlightLimit) begin(left time.Duration) {
	r.done.Store(0)
	r.over = make(chan struct{})
	r.closeIn(left)
}

// take waits until a batch may be sent. It returns false if the window has ended or ctx is done.
func (r *inFlightLimit) take(ctx context.Context) bool {
	select {
	case <-r.free:
		return true
	default:
	}
	select {
	case <-r.free:
		return true
	case <-r.over:
	case <-ctx.Done():
	}
	return false
}

// settled subtracts n from the number of tasks in flight. If a task is settled twice, the ledger
// reports a fault, but the limit does not grow.
func (r *inFlightLimit) settled(n int) {
	done := r.done.Add(int64(n))
	for batches := done/r.batch - (done-int64(n))/r.batch; batches > 0; batches-- {
		select {
		case r.free <- struct{}{}:
		default:
			return
		}
	}
}

package load

import (
	"context"
	"sync/atomic"
	"time"
)

// inFlightLimit bounds the tasks of a closed load that are sent and not completed, in whole
// batches. Producers wait for it, so that no backlog grows if the workers are slower.
type inFlightLimit struct {
	batch  int64
	free   chan struct{} // one element for each batch that may be sent
	done   atomic.Int64  // tasks settled since the creation or the last begin
	over   chan struct{} // closed at the window's end; replaced by begin
	finish *time.Timer   // nil before the window's end is known
}

// newInFlightLimit returns a limit of inFlight tasks, which producers take in batches.
func newInFlightLimit(inFlight, batch int) *inFlightLimit {
	r := &inFlightLimit{batch: int64(batch), free: make(chan struct{}, inFlight/batch), over: make(chan struct{})}
	for range cap(r.free) {
		r.free <- struct{}{}
	}
	return r
}

// closeIn closes the limit after the given time, at the window's end. It is called once for each
// window.
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

// settled removes n tasks from those in flight. A task that is settled twice, which the ledger
// reports as a fault, does not raise the limit.
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

package load

import (
	"context"
	"sync/atomic"
	"time"
)

// inFlightLimit bounds how many tasks of a closed load are sent and not completed, in whole batches. Producers wait for it, so
// that a backlog does not grow before slower workers.
type inFlightLimit struct {
	batch  int64
	free   chan struct{} // an element for each batch that may be sent
	done   atomic.Int64  // tasks completed or refused so far
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

// closeIn closes the limit after a time, when the window ends. It is called once for each window.
func (r *inFlightLimit) closeIn(left time.Duration) {
	over := r.over
	r.finish = time.AfterFunc(left, func() { close(over) })
}

// close closes the limit before that time.
func (r *inFlightLimit) close() {
	if r.finish.Stop() {
		close(r.over)
	}
}

// begin makes the limit that of another window, which ends after a time. Nothing may be in flight, and no producer may wait.
func (r *inFlightLimit) begin(left time.Duration) {
	r.done.Store(0)
	r.over = make(chan struct{})
	r.closeIn(left)
}

// take waits until a batch may be sent. It returns false when the window is over or ctx is done.
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

// settled says that n tasks are not in flight any more. A task that is settled twice, which the ledger counts as a fault, does
// not raise the limit.
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

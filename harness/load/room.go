package load

import (
	"context"
	"sync/atomic"
	"time"
)

// room bounds how many tasks of a closed load are sent and not completed, in whole batches: producers wait for it, so
// that they don't put up a backlog before workers that are slower than they are.
type room struct {
	batch  int64
	free   chan struct{} // an element for each batch that may be sent
	done   atomic.Int64  // tasks completed or refused so far
	over   chan struct{} // closed at the window's end
	finish *time.Timer   // nil before the window's end is known
}

// newRoom returns room for so many tasks, a batch at a time.
func newRoom(inFlight, batch int) *room {
	r := &room{batch: int64(batch), free: make(chan struct{}, inFlight/batch), over: make(chan struct{})}
	for range cap(r.free) {
		r.free <- struct{}{}
	}
	return r
}

// closeIn has there be no more room after a time, which is when the window ends. It is called once.
func (r *room) closeIn(left time.Duration) {
	r.finish = time.AfterFunc(left, func() { close(r.over) })
}

// take waits for room for a batch. It returns false when the window is over or ctx is done.
func (r *room) take(ctx context.Context) bool {
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

// settled says that n tasks will not be heard of again. A task that is settled twice, which the ledger counts as a
// fault, makes no more room than there was.
func (r *room) settled(n int) {
	done := r.done.Add(int64(n))
	for batches := done/r.batch - (done-int64(n))/r.batch; batches > 0; batches-- {
		select {
		case r.free <- struct{}{}:
		default:
			return
		}
	}
}

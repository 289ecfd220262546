package rpc

import (
	"context"
	"math"
	"sync/atomic"
)

// inFlight counts and limits the frames of a stream that were read but not answered. After close
// succeeds, acquire admits no frame. Therefore, if a stream closes its limit before it ends, it has
// answered every frame that it executed.
type inFlight struct {
	slots  chan struct{} // contains one element for each frame in flight
	frames atomic.Int64  // the number of frames in flight, or inFlightClosed
}

const inFlightClosed = math.MinInt64

func newInFlight(framesMax int) *inFlight { return &inFlight{slots: make(chan struct{}, framesMax)} }

// acquire waits for room and counts a frame. It returns false if the limit is closed or if ctx
// ends.
func (f *inFlight) acquire(ctx context.Context) bool {
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	for {
		n := f.frames.Load()
		if n == inFlightClosed {
			<-f.slots
			return false
		}
		if f.frames.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (f *inFlight) release() {
	f.frames.Add(-1)
	<-f.slots
}

// close closes the limit if no frame is in flight. It returns true if the limit is now closed.
func (f *inFlight) close() bool {
	return f.frames.CompareAndSwap(0, inFlightClosed) || f.frames.Load() == inFlightClosed
}

package load

import (
	"context"
	"sync"
	"time"
)

const (
	// beatEvery is the time between two beats.
	beatEvery = 10 * time.Millisecond
	// stopLeast is the shortest stop that is noted. A shorter delay of a beat is a wait for a CPU.
	stopLeast = 10 * time.Millisecond
)

// heartbeat notes when this process did not run because it was stopped, frozen or without a CPU. A
// call in flight at that time appears to take at least as long as the stop, although the server may
// have answered at once.
type heartbeat struct {
	mu    sync.Mutex
	last  int64 // when the process last ran
	stops []span
}

// start sets the first time. It must be called before any other method.
func (h *heartbeat) start(now int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last, h.stops = now, nil
}

// run notes beats until ctx is done.
func (h *heartbeat) run(ctx context.Context, c clock) {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for ctx.Err() == nil {
		select {
		case <-beat.C:
		case <-ctx.Done():
		}
		h.saw(c.now())
	}
}

// saw notes that the process runs at the given time.
func (h *heartbeat) saw(now int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	due := h.last + int64(beatEvery)
	if now-due >= int64(stopLeast) {
		h.stops = append(h.stops, span{start: due, end: now})
	}
	h.last = max(h.last, now)
}

// stopped returns the time of [from, until) in which the process did not run, in nanoseconds. It
// forgets the stops that ended before from.
func (h *heartbeat) stopped(from, until int64) (ns int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := h.stops[:0]
	for _, stop := range h.stops {
		if stop.end <= from {
			continue
		}
		kept = append(kept, stop)
		ns += max(0, min(stop.end, until)-max(stop.start, from))
	}
	h.stops = kept
	return ns
}

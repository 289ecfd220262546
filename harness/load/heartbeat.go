package load

import (
	"context"
	"sync"
	"time"
)

const (
	// beatEvery is how often a heartbeat looks at the clock.
	beatEvery = 10 * time.Millisecond
	// stopLeast is the shortest stop that a heartbeat notes. A beat that is less late than that waited for a CPU.
	stopLeast = 10 * time.Millisecond
)

// heartbeat notes when this process did not run: it was stopped, frozen or without a CPU. A call in flight then seems to take as long as
// the stop, although the server may have answered at once.
type heartbeat struct {
	mu    sync.Mutex
	last  int64 // when the process was last seen running
	stops []span
}

// start begins at a time, before any other call.
func (h *heartbeat) start(now int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last, h.stops = now, nil
}

// run beats until ctx is done.
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

// saw notes a time at which the process runs.
func (h *heartbeat) saw(now int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	due := h.last + int64(beatEvery)
	if now-due >= int64(stopLeast) {
		h.stops = append(h.stops, span{start: due, end: now})
	}
	h.last = max(h.last, now)
}

// stopped returns how long the process did not run from one time until another one, and forgets the stops before from.
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

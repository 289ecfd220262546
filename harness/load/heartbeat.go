package load

import (
	"context"
	"sync"
	"time"
)

const (
	// beatEvery is the time between two beats.
	beatEvery = 10 * time.Millisecond
	// stopLeast is the shortest stop that is recorded. A beat that is late by less merely waited
	// for a CPU.
	stopLeast = 10 * time.Millisecond
)

// heartbeat records when this process did not run because it was stopped, frozen or without a CPU.
// If a call is in flight during a stop, its measured duration includes the stop, although the
// server may have answered quickly.
type heartbeat struct {
	mu    sync.Mutex
	last  int64 // when the process last ran
	stops []span
}

// start sets the initial time. It must be called before any other method.
func (h *heartbeat) start(now int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last, h.stops = now, nil
}

// run records beats until ctx is done.
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

// saw records that the process runs at the given time.
func (h *heartbeat) saw(now int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	due := h.last + int64(beatEvery)
	if now-due >= int64(stopLeast) {
		h.stops = append(h.stops, span{start: due, end: now})
	}
	h.last = max(h.last, now)
}

// stopped returns how many nanoseconds of [from, until) the process did not run. It forgets stops
// that ended before from.
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

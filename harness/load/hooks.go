package load

import (
	"context"
	"fmt"
	"time"
)

// Hooks are callbacks at certain points of a round. Any of them may be nil.
type Hooks struct {
	// WindowNear is called NearLead before the window's start, or immediately if the start is
	// nearer. The same goroutine calls WindowStart next, so WindowNear must return quickly. If the
	// warm-up waits for a steady load, WindowNear makes the warm-up longer by NearLead.
	WindowNear func(ctx context.Context) error
	// WindowStart and WindowEnd are called at the window's edges by a separate goroutine, so the
	// load continues while they run. WindowEnd waits for WindowStart to return. An error ends the
	// round. ctx is done when the round fails. Run waits for both hooks until at most 5 s after the
	// drain's time limit.
	WindowStart func(ctx context.Context) error
	WindowEnd   func(ctx context.Context) error
	// Progress is called at most four times a second by a separate goroutine. It must not block.
	Progress func(Progress)
	// Steady reports whether the load has reached its steady state. A goroutine calls it repeatedly
	// once Phases.Warmup has passed. The window begins when Steady returns true, or when
	// Phases.WarmupMax has passed. Open loads never call Steady.
	Steady func() bool
}

// NearLead is the time between the call of WindowNear and the window's start. It is long enough for
// slow preparations that must not run inside the window.
const NearLead = 250 * time.Millisecond

// HookTimes are the times when a hook was called and when it returned. Both are zero if there is no
// hook.
type HookTimes struct {
	Called   time.Time
	Returned time.Time
}

const progressEvery = 250 * time.Millisecond

// Progress is the progress of a round's load.
type Progress struct {
	Phase   string        // "warmup", "window" or "drain"; "filling" or "draining" a backlog
	Elapsed time.Duration // since the launch
	// length of the warm-up; 0 if it is not known yet or if there is no warm-up
	Warmup    time.Duration
	Sent      uint64 // tasks
	Completed uint64
	// Outstanding is the number of tasks that were sent and were neither refused nor completed.
	Outstanding uint64
	// CycleP99 approximates the 99th percentile of the window's cycle latencies so far. It comes
	// from a sample and is at most 12.5 % too high. It is 0 before the first cycle.
	CycleP99 time.Duration
}

// AtEdges calls WindowNear shortly before the window's start, WindowStart at the start and
// WindowEnd at the end. A hook that is still running delays the next one. AtEdges returns after the
// last hook, or after the first hook that fails, with the hook's error. It returns no error if ctx
// is done while it waits for an edge. atStart and atEnd are the times of the calls of WindowStart
// and WindowEnd.
func (h Hooks) AtEdges(ctx context.Context, start, end time.Time) (atStart, atEnd HookTimes, err error) {
	return h.atEdges(ctx, start, end, nil)
}

// atEdges is AtEdges for a window that ends early when cut is closed.
func (h Hooks) atEdges(ctx context.Context, start, end time.Time, cut <-chan struct{}) (atStart, atEnd HookTimes, err error) {
	var atNear HookTimes
	for _, edge := range []struct {
		name  string
		at    time.Time
		cut   <-chan struct{}
		hook  func(context.Context) error
		times *HookTimes
	}{
		{"window's approach", start.Add(-NearLead), nil, h.WindowNear, &atNear},
		{"window start", start, nil, h.WindowStart, &atStart},
		{"window end", end, cut, h.WindowEnd, &atEnd},
	} {
		if edge.hook == nil {
			continue
		}
		timer := time.NewTimer(time.Until(edge.at))
		select {
		case <-timer.C:
		case <-edge.cut:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return atStart, atEnd, nil
		}
		edge.times.Called = time.Now()
		err := edge.hook(ctx)
		edge.times.Returned = time.Now()
		if err != nil {
			return atStart, atEnd, fmt.Errorf("hook at the %s: %w", edge.name, err)
		}
	}
	return atStart, atEnd, nil
}

func (r *round) callHooks(ctx context.Context) {
	select {
	case <-r.window.known:
	case <-ctx.Done():
		return
	}
	var err error
	r.startHook, r.endHook, err = r.cfg.Hooks.atEdges(ctx, r.clock.at(r.window.start()), r.clock.at(r.window.end()), r.window.cut)
	if err != nil {
		r.failure.call(ctx, fmt.Errorf("load: %w", err))
	}
}

func (r *round) reportProgress(ctx context.Context) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		p := r.progress(r.ledgers...)
		if r.phase != "" {
			p.Phase = r.phase
		}
		r.cfg.Hooks.Progress(p)
	}
}

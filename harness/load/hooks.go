package load

import (
	"context"
	"fmt"
	"time"
)

// Hooks are called at points of a round. Any of them may be nil.
type Hooks struct {
	// WindowNear is called NearLead before the window's start, or at once where the start is nearer, before WindowStart and by the
	// same goroutine: it must return at once. A warm-up that goes on until the load is steady is longer by NearLead then.
	WindowNear func(ctx context.Context) error
	// WindowStart and WindowEnd are called at the window's edges, one after the other, by a goroutine
	// of their own: while one takes its time the load goes on, and WindowEnd waits for WindowStart. An
	// error ends the round. ctx is done when the round fails. Run waits for them up to 5 s beyond the
	// drain's greatest length.
	WindowStart func(ctx context.Context) error
	WindowEnd   func(ctx context.Context) error
	// Progress is called at most four times a second, by a goroutine of its own, and must not block.
	Progress func(Progress)
	// Steady reports whether the load has reached its steady state. A goroutine calls it repeatedly once the warm-up has taken
	// Phases.Warmup; the window begins when Steady returns true, or when the warm-up has taken Phases.WarmupMax. An open load does
	// not call it.
	Steady func() bool
}

// NearLead is how long before a window WindowNear is called: time for what takes a while and must not be within the window.
const NearLead = 250 * time.Millisecond

// HookTimes says when a hook began and ended. Both are zero without a hook.
type HookTimes struct {
	Called   time.Time
	Returned time.Time
}

// progressEvery is the time between reports.
const progressEvery = 250 * time.Millisecond

// Progress says how far a round's load is.
type Progress struct {
	Phase     string        // "warmup", "window" or "drain"; "filling" or "draining" a backlog
	Elapsed   time.Duration // since the launch
	Warmup    time.Duration // how long the warm-up took; 0 before that is known, and without one
	Sent      uint64        // tasks
	Completed uint64
	// Outstanding are the tasks sent and neither refused nor completed.
	Outstanding uint64
	// CycleP99 is about the 99th percentile of the window's cycle latencies so far, from a sample and at most 12.5 % too
	// high; 0 where nothing is known of it.
	CycleP99 time.Duration
}

// AtEdges calls WindowNear, WindowStart at a window's start and then WindowEnd at its end, or later where the one before has taken
// so long, and returns when each was at work. It returns once both have, once one has failed, with that one's error, or once
// ctx is done while it waits, without an error.
func (h Hooks) AtEdges(ctx context.Context, start, end time.Time) (atStart, atEnd HookTimes, err error) {
	return h.atEdges(ctx, start, end, nil)
}

// atEdges is AtEdges of a window that may end before its time, when cut is closed.
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

// callHooks calls the window's hooks, each at its edge.
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

// reportProgress calls the progress hook until ctx is done.
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

package load

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// windowEdges are those of the window, from one instant on and before another, and when everything must be over, in nanoseconds
// since the epoch. The rounds of several workloads share them. They are settled once: at the launch, or, where the warm-up
// goes on until the load is steady, when it is over. Until then no instant is inside.
type windowEdges struct {
	from, to, over atomic.Int64
	known          chan struct{} // closed once they are settled
	cut            chan struct{} // closed once the window has ended before its time
}

// never is when a window ends that has no end.
const never = math.MaxInt64

// nowhere is a window that has no instant inside.
var nowhere = span{start: never, end: never}

// newWindowEdges are not settled; everything must be over by a time in any case.
func newWindowEdges(over int64) *windowEdges {
	e := &windowEdges{known: make(chan struct{}), cut: make(chan struct{})}
	e.from.Store(math.MaxInt64)
	e.to.Store(math.MaxInt64)
	e.over.Store(over)
	return e
}

// settledEdges are settled.
func settledEdges(s span, over int64) *windowEdges {
	e := newWindowEdges(over)
	e.settle(s, over)
	return e
}

// settle sets when the window begins, which must not be before the call, and when the window ends. Calls that were recorded
// before settle are outside of the window.
func (e *windowEdges) settle(s span, over int64) {
	e.over.Store(over)
	e.to.Store(s.end)
	e.from.Store(s.start)
	close(e.known)
}

// endAt ends the window of settled edges at a time before its end. It is called once at most.
func (e *windowEdges) endAt(to, over int64) {
	e.over.Store(over)
	e.to.Store(to)
	close(e.cut)
}

// move sets where the window of settled edges is. Nothing may be in flight.
func (e *windowEdges) move(s span) {
	e.to.Store(s.end)
	e.from.Store(s.start)
}

func (e *windowEdges) start() int64           { return e.from.Load() }
func (e *windowEdges) end() int64             { return e.to.Load() }
func (e *windowEdges) deadline() int64        { return e.over.Load() }
func (e *windowEdges) span() span             { return span{e.start(), e.end()} }
func (e *windowEdges) contains(ns int64) bool { return e.span().contains(ns) }

// steadyEveryLeast bounds how often the hook is asked whether the load is steady.
const steadyEveryLeast = 10 * time.Millisecond

// warmup decides when the windows of some rounds begin.
type warmup struct {
	phases scenario.Phases
	steady func() bool   // nil: when the clock says so
	lead   time.Duration // from when the load is steady to the window's start
	clock  clock
	window *windowEdges
}

// newWarmup returns the warm-up of rounds that begin at an epoch, with edges that are settled unless the load is waited for.
// Only closed loads are: when the tasks of others are due counts from the window's start.
func newWarmup(epoch time.Time, cfgs []Config) *warmup {
	w := &warmup{phases: cfgs[0].Phases, steady: cfgs[0].Hooks.Steady, clock: clock{epoch: epoch}}
	if cfgs[0].Hooks.WindowNear != nil {
		w.lead = NearLead
	}
	if w.phases.WarmupMax <= w.phases.Warmup {
		w.steady = nil
	}
	for _, c := range cfgs {
		if c.Workload.Arrivals.Timed() {
			w.steady = nil
		}
	}
	if w.steady == nil {
		w.window = settledEdges(w.from(int64(w.phases.Warmup)))
		return w
	}
	_, latest := w.from(int64(w.phases.WarmupMax))
	w.window = newWindowEdges(latest)
	return w
}

// from is the window that begins at a time, and when everything must be over then.
func (w *warmup) from(start int64) (s span, over int64) {
	s = span{start: start, end: start + int64(w.phases.Window)}
	return s, s.end + int64(w.phases.Drain)
}

// wait settles the edges when the warm-up has taken its least time and the load is steady, or when it has taken its longest. It
// does not if ctx is done before.
func (w *warmup) wait(ctx context.Context) {
	if w.steady == nil {
		return
	}
	every := max(w.phases.Warmup/20, steadyEveryLeast)
	for at := int64(w.phases.Warmup); ; at += int64(every) {
		latest := int64(w.phases.WarmupMax - w.lead)
		timer := time.NewTimer(w.clock.until(min(at, latest)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if at >= latest || w.steady() {
			w.window.settle(w.from(w.clock.now() + int64(w.lead)))
			return
		}
	}
}

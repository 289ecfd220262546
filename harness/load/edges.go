package load

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// windowEdges are the edges of the window, [from, to), and the deadline of the drain (over). All
// are in nanoseconds since the epoch. Workloads that run together share one windowEdges.
//
// The edges are settled exactly once. This happens at the launch, or at the end of the warm-up if
// the warm-up waits for a steady load. Until then the window contains no instant.
type windowEdges struct {
	from, to, over atomic.Int64
	known          chan struct{} // closed when the edges are settled
	cut            chan struct{} // closed if the window ends early
}

// never is the end of a window that is not limited in time.
const never = math.MaxInt64

var nowhere = span{start: never, end: never}

// newWindowEdges returns edges that are not settled. over is the latest deadline that settle may
// set.
func newWindowEdges(over int64) *windowEdges {
	e := &windowEdges{known: make(chan struct{}), cut: make(chan struct{})}
	e.from.Store(math.MaxInt64)
	e.to.Store(math.MaxInt64)
	e.over.Store(over)
	return e
}

func settledEdges(s span, over int64) *windowEdges {
	e := newWindowEdges(over)
	e.settle(s, over)
	return e
}

// settle sets the window and the deadline. The window must not start before the call. Calls that
// were recorded before settle are outside of the window.
func (e *windowEdges) settle(s span, over int64) {
	e.over.Store(over)
	e.to.Store(s.end)
	e.from.Store(s.start)
	close(e.known)
}

// endAt ends the window early, at to, and sets a new deadline. The edges must be settled. It must
// be called at most once.
func (e *windowEdges) endAt(to, over int64) {
	e.over.Store(over)
	e.to.Store(to)
	close(e.cut)
}

// move sets a new window. The edges must be settled, and no task may be in flight.
func (e *windowEdges) move(s span) {
	e.to.Store(s.end)
	e.from.Store(s.start)
}

func (e *windowEdges) start() int64           { return e.from.Load() }
func (e *windowEdges) end() int64             { return e.to.Load() }
func (e *windowEdges) deadline() int64        { return e.over.Load() }
func (e *windowEdges) span() span             { return span{e.start(), e.end()} }
func (e *windowEdges) contains(ns int64) bool { return e.span().contains(ns) }

// steadyEveryLeast is the shortest time between two calls of Hooks.Steady.
const steadyEveryLeast = 10 * time.Millisecond

// warmup decides when the shared window of rounds begins.
type warmup struct {
	phases scenario.Phases
	steady func() bool   // nil if the window begins after Phases.Warmup
	lead   time.Duration // from the steady state to the window's start
	clock  clock
	window *windowEdges
}

// newWarmup returns the warm-up of rounds that begin at the given epoch. It settles the edges
// immediately unless the warm-up waits for a steady load. Only closed loads wait for a steady load.
// The schedule of an open load is computed from the window's start, which must be known from the
// beginning.
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

func (w *warmup) from(start int64) (s span, over int64) {
	s = span{start: start, end: start + int64(w.phases.Window)}
	return s, s.end + int64(w.phases.Drain)
}

// wait settles the edges as soon as the load is steady, but not before Phases.Warmup and not after
// Phases.WarmupMax. If ctx is done first, the edges remain unsettled.
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

package load

import (
	"time"

	"github.com/pronybench/prony/harness/ledger"
)

// accounting contains what the recorders of one load share: its ledger, clock, window and limits.
// The producers and slots of Run use it, and so do the users of a Meter.
type accounting struct {
	ledger   *ledger.Ledger
	clock    clock
	window   *windowEdges
	schedule *schedule      // nil for a closed load
	limit    *inFlightLimit // nil without an in-flight limit; only closed loads have one
	// volume ends the window after a number of tasks. It is nil if the window ends by time.
	volume *volume
	// untimed disables cycle latencies. It is set if the tasks were sent before the epoch.
	untimed bool
	live    *live // nil if no progress is reported
	slow    *Slow // nil if cycle times have no bound
	// persist is set if an enqueue or completion of an open load may remain unanswered.
	persist bool
}

// settled subtracts n from the number of tasks in flight.
func (a *accounting) settled(n int) {
	if a.schedule != nil {
		a.schedule.settled(n)
	}
	if a.limit != nil {
		a.limit.settled(n)
	}
}

// progress returns the progress of a load whose tasks are in the given ledgers.
func (a *accounting) progress(ledgers ...*ledger.Ledger) Progress {
	now := a.clock.now()
	p := Progress{Phase: "window", Elapsed: time.Duration(max(now, 0)), CycleP99: a.live.p99()}
	for _, l := range ledgers {
		totals := l.Totals()
		p.Sent += totals.Sent
		p.Completed += totals.Completed
		p.Outstanding += totals.Outstanding
	}
	if now >= a.window.start() {
		p.Warmup = time.Duration(a.window.start())
	}
	switch {
	case now < a.window.start():
		p.Phase = "warmup"
	case now >= a.window.end():
		p.Phase = "drain"
	}
	return p
}

// unplaced marks the intended start of a task that was sent outside of the schedule, or without
// waiting for the in-flight limit. Such a task does not count against the limit, and the account of
// an open load omits it. Applying unplaced twice returns the original value.
func unplaced(ns int64) int64 { return ^ns }

// placed returns the intended start of a task. ok is true if the task counts against the schedule
// or the in-flight limit.
func placed(intended int64) (ns int64, ok bool) {
	if intended < 0 {
		return unplaced(intended), false
	}
	return intended, true
}

// Latency is a latency that N tasks had in common.
type Latency struct {
	NS int64
	N  int
}

// latencySink collects the latencies that a Meter returns to its caller. It collects nothing unless
// wanted is set.
type latencySink struct {
	wanted bool
	all    []Latency
}

func (t *latencySink) note(ns int64, n int) {
	if !t.wanted {
		return
	}
	if last := len(t.all) - 1; last >= 0 && t.all[last].NS == ns {
		t.all[last].N += n
		return
	}
	t.all = append(t.all, Latency{ns, n})
}

func (t *latencySink) take() []Latency {
	all := t.all
	t.all = nil
	return all
}

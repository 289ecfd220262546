package load

import (
	"time"

	"github.com/pronybench/prony/harness/ledger"
)

// book is what the figures of a load are taken by, whoever makes its calls: Run's own producers and slots, or those who use
// a Meter.
type book struct {
	ledger   *ledger.Ledger
	clock    clock
	window   *windowEdges
	schedule *schedule // of an open load, else nil
	room     *room     // of a closed load whose tasks in flight are bounded, else nil
	untimed  bool      // cycles have no latency: their tasks were sent before the epoch
	live     *live     // for progress; nil where nobody wants it
	slow     *Slow     // nil where nobody is told
}

// settled makes the room of n tasks free that are not in flight any more.
func (b *book) settled(n int) {
	if b.schedule != nil {
		b.schedule.settled(n)
	}
	if b.room != nil {
		b.room.settled(n)
	}
}

// progress is how far a load is, whose tasks are in some ledgers.
func (b *book) progress(ledgers ...*ledger.Ledger) Progress {
	now := b.clock.now()
	p := Progress{Phase: "window", Elapsed: time.Duration(max(now, 0)), CycleP99: b.live.p99()}
	for _, l := range ledgers {
		totals := l.Totals()
		p.Sent += totals.Sent
		p.Completed += totals.Completed
		p.Outstanding += totals.Outstanding
	}
	if now >= b.window.start() {
		p.Warmup = time.Duration(b.window.start())
	}
	switch {
	case now < b.window.start():
		p.Phase = "warmup"
	case now >= b.window.end():
		p.Phase = "drain"
	}
	return p
}

// unplaced marks the time at which a task was meant to be sent of one that has no place in the load: it was sent beside
// the schedule, or without waiting for room. It gives no room back, and an open load's account is without it. The mark is its
// own inverse.
func unplaced(ns int64) int64 { return ^ns }

// placed returns when a task was meant to be sent, and whether it has a place in the load.
func placed(intended int64) (ns int64, ok bool) {
	if intended < 0 {
		return unplaced(intended), false
	}
	return intended, true
}

// Latency is that of some tasks.
type Latency struct {
	NS int64
	N  int
}

// told are latencies for whoever else shows them; nothing is noted where nobody wants them.
type told struct {
	wanted bool
	all    []Latency
}

func (t *told) note(ns int64, n int) {
	if !t.wanted {
		return
	}
	if last := len(t.all) - 1; last >= 0 && t.all[last].NS == ns {
		t.all[last].N += n
		return
	}
	t.all = append(t.all, Latency{ns, n})
}

// take returns what was noted, which is the caller's then.
func (t *told) take() []Latency {
	all := t.all
	t.all = nil
	return all
}

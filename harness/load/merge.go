package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/result"
)

// newOutcome returns an outcome into which what was recorded is to be merged.
func (a *accounting) newOutcome(window time.Duration) *Outcome {
	o := &Outcome{
		Launched:       a.clock.epoch,
		WindowStart:    a.clock.at(a.window.start()),
		WindowEnd:      a.clock.at(a.window.end()),
		Window:         window,
		EnqueueLatency: result.NewHistogram(),
		SettleLatency:  result.NewHistogram(),
		CycleLatency:   result.NewHistogram(),
	}
	if a.schedule != nil {
		o.Open = &Open{
			Arrivals: result.Arrivals{PerSecond: meanPerSecond(a.schedule.pacer, window)},
			Slip:     result.NewHistogram(), Service: result.NewHistogram(),
			sent: result.NewHistogram(), back: result.NewHistogram(),
		}
	}
	return o
}

// mergeOpen completes the account of an open load, once what was recorded of calls has been merged. None may be under
// way.
func (a *accounting) mergeOpen(o *Outcome) {
	s, open := a.schedule, o.Open
	if s == nil {
		return
	}
	censored, slip := newLatencies(), newLatencies()
	open.Scheduled, open.Unsent, open.Dropped, open.Held = s.scheduled(), s.unsent(&censored, &slip), s.dropped, s.held
	s.mu.Lock()
	open.Refused = s.refused
	open.Unsent += s.withdrawn
	o.Clamped += s.censored.mergeInto(censored.histogram)
	s.mu.Unlock()
	open.Unsent += s.abandoned(&censored)
	// A task that was completed twice was finished twice, which the ledger tells.
	answered := open.Finished + open.Unsent + open.Dropped + open.Refused
	open.Unfinished = open.Scheduled - min(open.Scheduled, answered)
	o.Clamped += s.slip.mergeInto(open.Slip) + slip.mergeInto(open.Slip)
	o.Clamped += censored.mergeInto(o.CycleLatency)
	o.EnqueueLatency.Merge(censored.histogram) // clamped with the cycles
	open.censorUnheard(o.CycleLatency)
}

// censorUnheard adds the tasks that were sent and did not come back to the latencies of cycles, as censored at the window's end: those
// whose outcome stayed unknown. Without them the latencies would leave out what a fault did worst. The tasks are those by which sent
// has more in a bucket than back, which both count what was left of the window when a task was due.
func (o *Open) censorUnheard(cycles *hdrhistogram.Histogram) {
	back := make(map[int64]int64)
	for _, bar := range o.back.Distribution() {
		back[bar.From] = bar.Count
	}
	censored := newLatencies()
	for _, bar := range o.sent.Distribution() {
		if left := bar.Count - back[bar.From]; left > 0 {
			censored.record(bar.From, int(left))
		}
	}
	censored.mergeInto(cycles) // none is beyond the range: each was in a histogram before
}

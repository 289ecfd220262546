package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/result"
)

// newOutcome returns an outcome without records. The caller merges the records into it.
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

// mergeOpen completes the account of an open load. All records of calls must have been merged, and
// no call may be in flight.
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
	// A task that was completed twice is counted twice in Finished. The ledger reports such a task.
	answered := open.Finished + open.Unsent + open.Dropped + open.Refused
	open.Unfinished = open.Scheduled - min(open.Scheduled, answered)
	o.Clamped += s.slip.mergeInto(open.Slip) + slip.mergeInto(open.Slip)
	o.Clamped += censored.mergeInto(o.CycleLatency)
	// The merge into CycleLatency above has already counted the clamped latencies.
	o.EnqueueLatency.Merge(censored.histogram)
	open.censorUnheard(o.CycleLatency)
}

// censorUnheard adds the tasks that were sent and have no known end to the cycle latencies,
// censored at the window's end. Without these tasks the latencies would omit the worst effect of a
// fault. Both sent and back contain, for each task, the time from its intended start to the
// window's end. The difference of the two counts of a bucket is therefore the number of missing
// tasks.
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
	// cannot clamp: each value comes from a histogram with the same range
	censored.mergeInto(cycles)
}

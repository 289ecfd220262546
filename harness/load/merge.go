package load

import (
	"time"

	"github.com/pronybench/prony/harness/result"
)

// newOutcome returns an outcome into which what was recorded is to be merged.
func (b *book) newOutcome(window time.Duration) *Outcome {
	o := &Outcome{
		Launched:       b.clock.epoch,
		WindowStart:    b.clock.at(b.window.start()),
		WindowEnd:      b.clock.at(b.window.end()),
		Window:         window,
		EnqueueLatency: result.NewHistogram(),
		SettleLatency:  result.NewHistogram(),
		CycleLatency:   result.NewHistogram(),
	}
	if b.schedule != nil {
		o.Open = &Open{
			PerSecond: meanPerSecond(b.schedule.flow, window),
			Slip:      result.NewHistogram(), Service: result.NewHistogram(),
		}
	}
	return o
}

// mergeOpen completes the account of an open load, once what was recorded of calls has been merged. None may be under
// way.
func (b *book) mergeOpen(o *Outcome) {
	s, open := b.schedule, o.Open
	if s == nil {
		return
	}
	censored, slip := newLatencies(), newLatencies()
	open.Scheduled, open.Unsent, open.Shed, open.Held = s.scheduled(), s.unsent(&censored, &slip), s.shed, s.held
	s.mu.Lock()
	open.Refused = s.refused
	open.Unsent += s.withdrawn
	o.Clamped += s.censored.mergeInto(censored.histogram)
	s.mu.Unlock()
	open.Unsent += s.dropped(&censored)
	// A task that was completed twice was finished twice, which the ledger tells.
	answered := open.Finished + open.Unsent + open.Shed + open.Refused
	open.Unfinished = open.Scheduled - min(open.Scheduled, answered)
	o.Clamped += s.slip.mergeInto(open.Slip) + slip.mergeInto(open.Slip)
	o.Clamped += censored.mergeInto(o.CycleLatency)
	o.EnqueueLatency.Merge(censored.histogram) // clamped with the cycles
}

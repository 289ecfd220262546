package load

import (
	"errors"

	"github.com/pronybench/prony/harness/driver"
)

// enqueues records the tasks that one producer sent. It is not safe for concurrent use.
type enqueues struct {
	*accounting
	latency  latencies
	service  latencies // open load only
	sent     latencies // see Open.censorUnheard
	enqueued uint64
	refused  Refusals
	sink     latencySink
}

func newEnqueues(b *accounting, open bool) enqueues {
	e := enqueues{accounting: b, latency: newLatencies()}
	if open {
		e.service = newLatencies()
	}
	return e
}

// account enters the outcomes of a batch in the ledger. A run of acknowledged tasks is one entry.
// account returns the number of acknowledged tasks. If the outcome of any task is unknown, it also
// returns the last such error.
func (e *enqueues) account(producer int, first uint64, intended []int64, outcomes []error) (acknowledged int, unknown error) {
	from := 0
	for i, reason := range outcomes {
		if reason == nil {
			acknowledged++
			continue
		}
		e.ledger.Enqueued(producer, first+uint64(from), i-from)
		if errors.Is(reason, driver.ErrUnknown) {
			e.doubt(producer, first+uint64(i), intended[i:i+1])
			unknown = reason
		} else {
			e.ledger.Refused(producer, first+uint64(i), 1)
			e.refuse(reason)
		}
		from = i + 1
	}
	e.ledger.Enqueued(producer, first+uint64(from), len(outcomes)-from)
	return acknowledged, unknown
}

// refuse counts the refusal of a task. The refusal of a taken key is not a fault.
func (e *enqueues) refuse(reason error) {
	if errors.Is(reason, driver.ErrKeyTaken) {
		e.ledger.KeyTaken(1)
		return
	}
	e.refused.note(1, reason)
}

// doubt notes that the enqueues of len(intended) tasks, numbered from first on, will never be
// answered. Those that have not ended no longer count as in flight: they may never be completed,
// and would occupy the in-flight limit permanently.
func (e *enqueues) doubt(producer int, first uint64, intended []int64) {
	gone := 0
	for i, at := range intended {
		if ended := e.ledger.Unknown(producer, first+uint64(i), 1); at >= 0 {
			gone += ended
		}
	}
	e.settled(gone)
}

// record records the latencies of a call. Each latency is measured from the task's intended start.
// Refused tasks no longer count as in flight.
func (e *enqueues) record(intended []int64, outcomes []error, acknowledged int, called, now int64) {
	if acknowledged < len(outcomes) {
		e.settled(refusals(intended, outcomes))
	}
	if e.schedule != nil {
		e.recordOpen(intended, outcomes, now)
	} else {
		e.recordClosed(intended, outcomes, now)
	}
	if acknowledged == 0 || !e.window.contains(now) {
		return
	}
	e.enqueued += uint64(acknowledged)
	e.volume.enqueued(acknowledged)
	if e.schedule != nil {
		e.service.record(now-called, acknowledged)
	}
}

// refusals returns the number of refused tasks that count against the in-flight limit.
func refusals(intended []int64, outcomes []error) (n int) {
	for i, at := range intended {
		if at >= 0 && outcomes[i] != nil && !errors.Is(outcomes[i], driver.ErrUnknown) {
			n++
		}
	}
	return n
}

// recordClosed records the tasks that were acknowledged inside the window. Tasks with the same
// intended start are recorded together.
func (e *enqueues) recordClosed(intended []int64, outcomes []error, now int64) {
	inside := e.window.contains(now)
	var run sameStart
	flush := func() {
		if run.n > 0 && inside {
			started, _ := placed(run.at)
			e.note(now-started, run.n)
		}
		run.n = 0
	}
	for i, at := range intended {
		if outcomes[i] != nil {
			continue
		}
		if at != run.at {
			flush()
			run.at = at
		}
		run.n++
	}
	flush()
}

// recordOpen records the tasks whose intended start was inside the window. If a task was
// acknowledged after the window's end, its latency is censored at the window's end.
func (e *enqueues) recordOpen(intended []int64, outcomes []error, now int64) {
	s, inside := e.schedule, e.window.contains(now)
	for i, due := range intended {
		if e.persist && due >= e.window.start() && (outcomes[i] == nil || errors.Is(outcomes[i], driver.ErrUnknown)) {
			e.sent.record(e.window.end()-due, 1)
		}
		switch {
		case due < 0: // outside of the schedule
		case due < e.window.start():
		case errors.Is(outcomes[i], driver.ErrUnknown):
			e.latency.record(e.window.end()-due, 1)
		case outcomes[i] != nil:
			s.refuse(due)
		case inside:
			e.note(now-due, 1)
		default:
			e.latency.record(e.window.end()-due, 1)
		}
	}
}

func (e *enqueues) note(ns int64, n int) {
	e.latency.record(ns, n)
	e.sink.note(ns, n)
}

// mergeInto adds the records to an outcome. For an open load o.Open must not be nil.
func (e *enqueues) mergeInto(o *Outcome) {
	o.Enqueued += e.enqueued
	o.RefusedEnqueues.Add(e.refused)
	o.Clamped += e.latency.mergeInto(o.EnqueueLatency)
	if o.Open != nil {
		o.Clamped += e.service.mergeInto(o.Open.Service)
		e.sent.mergeInto(o.Open.sent)
	}
}

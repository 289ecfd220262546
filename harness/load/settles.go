package load

import (
	"errors"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
)

type claimed struct {
	id      ledger.Identity
	verdict ledger.Verdict
	attempt uint32
	delay   time.Duration
	at      int64 // time of the claim
	lease   ledger.Lease
}

// placed reports whether a task counts against the in-flight limit until it is settled. A task
// whose identity is unreadable does.
func (c *claimed) placed() bool { return c.verdict == ledger.Unreadable || c.id.IntendedNS >= 0 }

// settles records the tasks that one slot completed. It is not safe for concurrent use.
type settles struct {
	*accounting
	settle   latencies
	cycle    latencies
	late     latencies // of delayed tasks
	back     latencies // see Open.censorUnheard
	run      sameStart
	delay    int64 // delay of the tasks of run, in nanoseconds
	cycles   uint64
	finished uint64 // tasks of an open load that were due and completed inside the window
	refused  Refusals
	shown    uint64 // number of runs of cycles so far; one of liveEvery enters the live histogram

	// completed contains the completed tasks of a batch that count against the in-flight limit.
	completed  []ledger.Identity
	beside     []ledger.Identity // completed tasks of a batch that do not count against it
	claims     sameStart         // completed tasks of a batch that one claim returned
	cycleSink  latencySink
	settleSink latencySink
}

func newSettles(b *accounting) settles {
	return settles{accounting: b, settle: newLatencies(), cycle: newLatencies()}
}

// account enters the outcomes of completions that were answered at now.
func (s *settles) account(claims []claimed, outcomes []error, now int64) {
	inside := s.window.contains(now)
	settled := 0
	s.completed, s.beside = s.completed[:0], s.beside[:0]
	for i := range claims {
		c := &claims[i]
		if errors.Is(outcomes[i], driver.ErrUnknown) {
			settled += s.unknown(c)
			continue
		}
		if outcomes[i] != nil {
			s.refuse(c, outcomes[i])
			continue
		}
		switch {
		case c.verdict == ledger.Unreadable:
			s.ledger.CompletedUnreadable()
			settled++
			continue
		case c.placed():
			s.completed = append(s.completed, c.id)
		default:
			s.beside = append(s.beside, c.id)
		}
		if c.verdict == ledger.Sound {
			if inside {
				s.recordSettle(c.at, now)
			}
			s.recordCycle(c.id.IntendedNS, int64(c.delay), now)
		}
	}
	s.flushSettle(now)
	s.flushCycle(now)
	s.ledger.Completed(s.beside...)
	s.settled(settled + s.ledger.Completed(s.completed...))
}

func (s *settles) refuse(c *claimed, reason error) {
	s.refused.note(1, reason)
	if c.verdict == ledger.Unreadable {
		return
	}
	s.ledger.CompletionRefused(c.id)
	if s.ledger.WatchesLeases() && errors.Is(reason, driver.ErrLeaseOver) {
		s.ledger.LeaseRefused(c.id, c.lease, time.Now())
	}
}

// doubt records that the outcome of completions is unknown. If free is true, their tasks no longer
// count as in flight.
func (s *settles) doubt(claims []claimed, free bool) {
	n := 0
	for i := range claims {
		n += s.unknown(&claims[i])
	}
	if free {
		s.settled(n)
	}
}

// unknown records that the completion of a delivery will never be answered. It returns the number
// that the caller must subtract from the tasks in flight. This is 1 because the task may never be
// delivered again, but 0 if the task does not count against the limit or has already ended.
func (s *settles) unknown(c *claimed) int {
	ended := c.verdict == ledger.Unreadable || s.ledger.CompletionUnknown(c.id)
	if ended && c.placed() {
		return 1
	}
	return 0
}

// recordSettle records a completion inside the window. claimed is the time when the task was
// claimed. Tasks of one claim are mostly completed together, so a run of them is recorded in one
// step.
func (s *settles) recordSettle(claimed, now int64) {
	if s.claims.n > 0 && s.claims.at != claimed {
		s.flushSettle(now)
	}
	s.claims.at = claimed
	s.claims.n++
}

func (s *settles) flushSettle(now int64) {
	n := s.claims.n
	s.claims.n = 0
	if n == 0 {
		return
	}
	s.cycles += uint64(n)
	s.volume.completed(n)
	s.settle.record(now-s.claims.at, n)
	s.settleSink.note(now-s.claims.at, n)
}

// recordCycle records a completed cycle. intended and delay are the intended start and the delay of
// its task. Tasks of one enqueue call mostly return together, so a run of them is recorded in one
// step.
func (s *settles) recordCycle(intended, delay, now int64) {
	if s.run.n > 0 && (s.run.at != intended || s.delay != delay) {
		s.flushCycle(now)
	}
	s.run.at, s.delay = intended, delay
	s.run.n++
}

// flushCycle records the current run of cycles. Latency is measured from the end of the task's
// delay, or from the intended start if the task has no delay. In an open load, tasks that are due
// inside the window and completed later are recorded too; their latencies are censored at the
// window's end.
func (s *settles) flushCycle(now int64) {
	n := s.run.n
	s.run.n = 0
	if n == 0 || s.untimed {
		return
	}
	intended, scheduled := placed(s.run.at)
	due := intended + s.delay
	// A task that is claimed before its delay has ended is a fault. Its latency is 0.
	inside, took := s.window.contains(now), max(0, now-due)
	if inside {
		s.slow.see(took)
	}
	if s.persist && s.schedule != nil && scheduled && intended >= s.window.start() {
		s.back.record(s.window.end()-intended, n)
	}
	switch {
	case s.schedule == nil:
		if inside {
			s.note(took, n)
		}
	case !scheduled:
	case inside:
		if intended >= s.window.start() {
			s.finished += uint64(n)
		}
		if due >= s.window.start() {
			s.note(took, n)
		}
	default:
		s.censor(due, n)
	}
}

// censor records n cycles of an open load that were due inside the window and were not completed by
// its end.
func (s *settles) censor(due int64, n int) {
	if due >= s.window.start() && due < s.window.end() {
		s.cycle.record(s.window.end()-due, n)
	}
}

func (s *settles) note(took int64, n int) {
	s.cycle.record(took, n)
	s.show(took, n)
	s.cycleSink.note(took, n)
}

// mergeInto adds the records to an outcome. For an open load o.Open must not be nil.
func (s *settles) mergeInto(o *Outcome) {
	o.Cycles += s.cycles
	o.RefusedCompletions.Add(s.refused)
	o.Clamped += s.settle.mergeInto(o.SettleLatency) + s.cycle.mergeInto(o.CycleLatency)
	if o.Open != nil {
		o.Open.Finished += s.finished
		s.back.mergeInto(o.Open.back)
	}
}

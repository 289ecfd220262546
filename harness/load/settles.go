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
// whose identity is unreadable counts.
func (c *claimed) placed() bool { return c.verdict == ledger.Unreadable || c.id.IntendedNS >= 0 }

// settles records the completed tasks of one slot. It is not safe for concurrent use.
type settles struct {
	*accounting
	settle   latencies
	cycle    latencies
	late     latencies // of delayed tasks
	back     latencies // see Open.censorUnheard
	run      sameStart
	delay    int64 // of the tasks of run, in nanoseconds
	cycles   uint64
	finished uint64 // tasks of an open load that were due and completed inside the window
	refused  Refusals
	shown    uint64 // runs of cycles recorded; the live histogram shows one of liveEvery

	// completed are the completed tasks of a batch that count against the in-flight limit.
	completed  []ledger.Identity
	beside     []ledger.Identity // completed tasks of a batch that do not
	claims     sameStart         // completed tasks of a batch from the same claim
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

// refuse notes that the completion or the failure of a delivery was refused.
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

// doubt notes that the outcome of the completions is unknown. With free it removes the tasks from
// those in flight.
func (s *settles) doubt(claims []claimed, free bool) {
	n := 0
	for i := range claims {
		n += s.unknown(&claims[i])
	}
	if free {
		s.settled(n)
	}
}

// unknown notes that the completion of a delivery will never be answered. It returns how many tasks
// the caller must remove from those in flight: 1, because the task may never be delivered again, or
// 0 if the task does not count against the limit or has ended before.
func (s *settles) unknown(c *claimed) int {
	ended := c.verdict == ledger.Unreadable || s.ledger.CompletionUnknown(c.id)
	if ended && c.placed() {
		return 1
	}
	return 0
}

// recordSettle notes a completion inside the window of a task that was claimed at the given time.
// Tasks of one claim are mostly completed together, so runs of them are recorded in one step.
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

// recordCycle notes a completed cycle with the intended start and the delay of its task. Tasks of
// one enqueue call mostly come back together, so runs of them are recorded in one step.
func (s *settles) recordCycle(intended, delay, now int64) {
	if s.run.n > 0 && (s.run.at != intended || s.delay != delay) {
		s.flushCycle(now)
	}
	s.run.at, s.delay = intended, delay
	s.run.n++
}

// flushCycle records the noted cycles. Their latency counts from the end of the task's delay, or
// from the intended start without a delay. In an open load, tasks due inside the window are
// recorded even if they were completed later: they are censored at the window's end.
func (s *settles) flushCycle(now int64) {
	n := s.run.n
	s.run.n = 0
	if n == 0 || s.untimed {
		return
	}
	intended, scheduled := placed(s.run.at)
	due := intended + s.delay
	// A task that comes early is a fault and has latency 0.
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

// censor records cycles of an open load whose task was due inside the window and not completed
// inside it.
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

// mergeInto adds the records to an outcome. Open is set in the outcome of an open load.
func (s *settles) mergeInto(o *Outcome) {
	o.Cycles += s.cycles
	o.RefusedCompletions.Add(s.refused)
	o.Clamped += s.settle.mergeInto(o.SettleLatency) + s.cycle.mergeInto(o.CycleLatency)
	if o.Open != nil {
		o.Open.Finished += s.finished
		s.back.mergeInto(o.Open.back)
	}
}

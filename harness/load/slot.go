package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
)

// slot is one goroutine that claims and completes, a batch at a time. What it records is read only
// after it has returned.
type slot struct {
	*round
	number  int
	tenant  string
	session driver.Worker

	deliveries []driver.Delivery
	claimed    []claimed // what was found in each delivery
	outcomes   []error
	completed  []ledger.Identity // of a batch, to be entered together
	from       ledger.Address    // of the last delivery: those of a batch are mostly of one queue

	settle       latencies
	cycle        latencies
	run          sameStart
	cycles       uint64
	finished     uint64 // tasks due inside the window of an open load that were completed inside it
	refused      Refusals
	shown        uint64 // runs of cycles recorded, of which one in liveEvery is shown live
	again        again
	firstClaim   int64 // when the first claim returned, -1 if none did
	lastComplete int64 // when the last completion was answered, -1 if none was

	_ [64]byte // keeps the counters of two goroutines off one cache line
}

type claimed struct {
	id      ledger.Identity
	verdict ledger.Verdict
}

func newSlot(r *round, number int, tenant string, session driver.Worker) *slot {
	batch := r.cfg.Workload.Batch
	return &slot{
		round:      r,
		number:     number,
		tenant:     tenant,
		session:    session,
		deliveries: make([]driver.Delivery, batch),
		claimed:    make([]claimed, batch),
		outcomes:   make([]error, batch),
		completed:  make([]ledger.Identity, 0, batch),
		settle:     newLatencies(),
		cycle:      newLatencies(),
		firstClaim: -1, lastComplete: -1,
	}
}

var errClaimedNone = errors.New("the driver returned no task and no error")

// work claims until claims is done, and completes all it has claimed unless calls is done too.
func (s *slot) work(claims, calls context.Context) {
	for claims.Err() == nil {
		n, err := s.session.Claim(claims, s.deliveries)
		if err == nil && (n < 1 || n > len(s.deliveries)) {
			err = errClaimedNone
			if n != 0 {
				err = fmt.Errorf("the driver returned %d tasks for room for %d", n, len(s.deliveries))
			}
		}
		if err != nil {
			err = fmt.Errorf("load: worker slot %d: claim for %s: %w", s.number, s.tenant, err)
			if s.cfg.Persist {
				s.again.after(claims, err)
				continue
			}
			s.failure.call(claims, err)
			return
		}
		at := s.clock.now()
		if s.firstClaim < 0 {
			s.firstClaim = at
		}
		s.check(n)
		err = s.session.Complete(calls, s.deliveries[:n], s.outcomes[:n])
		now := s.clock.now()
		if err != nil {
			err = fmt.Errorf("load: worker slot %d: complete for %s: %w", s.number, s.tenant, err)
			if s.cfg.Persist && calls.Err() == nil {
				s.doubt(n)
				s.free(n)
				s.again.after(calls, err)
				continue
			}
			own := !s.cfg.Persist && s.failure.call(calls, err)
			// Otherwise the drain's time was up: what was not acknowledged by then is lost.
			if own || s.ending() {
				s.doubt(n)
			}
			return
		}
		s.again.answered()
		s.account(n, at, now)
	}
}

// check verifies the payloads of n deliveries. They are checked against the tenant that the session
// belongs to, whatever the delivery says, so that another tenant's task is found.
func (s *slot) check(n int) {
	for i := range n {
		d := &s.deliveries[i]
		if d.Queue != s.from.Queue || s.from.Tenant == "" {
			s.from = ledger.NewAddress(s.tenant, d.Queue)
		}
		s.claimed[i].id, s.claimed[i].verdict = s.cfg.Ledger.Claimed(d.Payload, s.from)
		s.outcomes[i] = nil
	}
}

// account enters the outcomes of n completions, claimed and answered at the given times.
func (s *slot) account(n int, at, now int64) {
	s.lastComplete = now
	inside := s.window.contains(now)
	settled, cycles := 0, 0
	s.completed = s.completed[:0]
	for i := range n {
		c := &s.claimed[i]
		if errors.Is(s.outcomes[i], driver.ErrUnknown) {
			settled++ // it may never come back, and would take up room for ever
			s.unknown(c)
			continue
		}
		if s.outcomes[i] != nil {
			s.refused.note(1, s.outcomes[i])
			if c.verdict != ledger.Unreadable {
				s.cfg.Ledger.CompletionRefused(c.id)
			}
			continue
		}
		settled++
		if c.verdict == ledger.Unreadable {
			s.cfg.Ledger.CompletedUnreadable()
			continue
		}
		s.completed = append(s.completed, c.id)
		if c.verdict == ledger.Sound {
			if inside {
				cycles++
			}
			s.recordCycle(c.id.IntendedNS, now)
		}
	}
	s.flushCycle(now)
	s.cfg.Ledger.Completed(s.completed...)
	s.free(settled)
	if cycles > 0 {
		s.cycles += uint64(cycles)
		s.settle.record(now-at, cycles)
	}
}

// free makes the room of n tasks free that are not in flight any more.
func (s *slot) free(n int) {
	if s.schedule != nil {
		s.schedule.settled(n)
	}
	if s.room != nil {
		s.room.settled(n)
	}
}

// doubt says of n deliveries that it is not known whether they were completed.
func (s *slot) doubt(n int) {
	for i := range n {
		s.unknown(&s.claimed[i])
	}
}

// unknown says of a delivery that it is not known whether it was completed.
func (s *slot) unknown(c *claimed) {
	if c.verdict != ledger.Unreadable {
		s.cfg.Ledger.CompletionUnknown(c.id)
	}
}

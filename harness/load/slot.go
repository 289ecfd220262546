package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
)

// slot is one goroutine that claims and completes tasks in batches. Other goroutines may read its
// records only after it has returned.
type slot struct {
	*round
	number  int
	tenant  string
	session driver.Worker
	// combiner is the session if the workload completes and claims in one call, and nil otherwise.
	combiner driver.Combiner

	deliveries []driver.Delivery
	// next contains the tasks that the combiner claims while it completes deliveries. It is nil
	// without a combiner.
	next     []driver.Delivery
	claimed  []claimed         // description of each delivery
	asked    []ledger.Identity // tasks of a batch whose completion is about to be requested
	outcomes []error
	// from is the address of the last delivery. It is cached because the deliveries of a batch
	// mostly have the same queue.
	from ledger.Address

	thinking     thinking
	urgency      urgency
	failing      failing
	delaying     delaying
	unique       unique
	headers      headers
	returning    returning
	extending    extending
	cancelling   cancelling
	record       settles
	again        again
	firstClaim   int64 // time when the first claim returned, or -1
	lastComplete int64 // time when the last completion was answered, or -1

	_ [64]byte // keeps the counters of different goroutines on different cache lines
}

func newSlot(r *round, number int, tenant string, session driver.Worker) (*slot, error) {
	batch := r.cfg.Workload.ClaimBatch()
	s := &slot{
		round:      r,
		number:     number,
		tenant:     tenant,
		session:    session,
		deliveries: make([]driver.Delivery, batch),
		claimed:    make([]claimed, batch),
		outcomes:   make([]error, batch),
		thinking:   newThinking(r.cfg.Workload, number),
		urgency:    newUrgency(r.cfg.Workload),
		delaying:   newDelaying(r.cfg.Workload),
		unique:     newUnique(r.cfg.Workload),
		headers:    newHeaders(r.cfg.Workload),
		record:     newSettles(&r.accounting),
		firstClaim: -1, lastComplete: -1,
	}
	var err error
	if s.failing, err = newFailing(r.cfg.Workload, session); err != nil {
		return nil, err
	}
	if s.returning, err = newReturning(r.cfg.Workload, session); err != nil {
		return nil, err
	}
	if s.extending, err = newExtending(r.cfg.Workload, session); err != nil {
		return nil, err
	}
	if s.cancelling, err = newCancelling(r.cfg.Workload, session); err != nil {
		return nil, err
	}
	if !r.cfg.Workload.Combined {
		return s, nil
	}
	combiner, ok := session.(driver.Combiner)
	if !ok {
		return nil, fmt.Errorf("load: the driver %q can't complete and claim in one call: remove workload.combined", r.cfg.Workload.Driver)
	}
	s.combiner, s.next = combiner, make([]driver.Delivery, batch)
	return s, nil
}

func claimedWrong(n, most int) error {
	return fmt.Errorf("the driver returned %d tasks for at most %d", n, most)
}

var errClaimedNone = errors.New("the driver returned no task and no error")

// work claims tasks until claims is done. It completes all claimed tasks unless calls is done too.
func (s *slot) work(claims, calls context.Context) {
	for claims.Err() == nil {
		n, err := s.session.Claim(claims, s.deliveries)
		if err == nil && (n < 1 || n > len(s.deliveries)) {
			err = errClaimedNone
			if n != 0 {
				err = claimedWrong(n, len(s.deliveries))
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
		s.check(n, at)
		for n > 0 {
			var goOn bool
			if n, goOn = s.complete(claims, calls, n); !goOn {
				return
			}
		}
	}
}

// complete processes n deliveries: it waits for the think time, extends leases, cancels and fails
// the selected deliveries, and completes the others. A combiner also claims the next tasks in the same call,
// unless claims is done. complete returns the number of tasks that it claimed. goOn is false if the
// slot must stop.
func (s *slot) complete(claims, calls context.Context, n int) (next int, goOn bool) {
	s.thinking.pause(calls)
	if !s.extend(calls, n) {
		return 0, false
	}
	if n, goOn = s.cancel(calls, n); n == 0 || !goOn {
		return 0, goOn
	}
	if n, goOn = s.fail(calls, n); n == 0 || !goOn {
		return 0, goOn
	}
	s.completing(s.claimed[:n])
	s.giveResults(n)
	var err error
	if s.combiner != nil && claims.Err() == nil {
		next, err = s.combiner.CompleteAndClaim(calls, s.deliveries[:n], s.outcomes[:n], s.next)
		if err == nil && (next < 0 || next > len(s.next)) {
			err = claimedWrong(next, len(s.next))
		}
	} else {
		err = s.session.Complete(calls, s.deliveries[:n], s.outcomes[:n])
	}
	now := s.clock.now()
	if err != nil {
		return 0, s.unanswered(calls, "complete", s.claimed[:n], err)
	}
	s.again.answered()
	s.lastComplete = now
	s.record.account(s.claimed[:n], s.outcomes[:n], now)
	if !s.readResults(calls, n) {
		return 0, false
	}
	if next > 0 {
		s.deliveries, s.next = s.next, s.deliveries
		s.check(next, now)
	}
	return next, true
}

// unanswered handles a failed call that settles deliveries. It returns false if the slot must stop.
func (s *slot) unanswered(calls context.Context, call string, claims []claimed, err error) (goOn bool) {
	err = fmt.Errorf("load: worker slot %d: %s for %s: %w", s.number, call, s.tenant, err)
	if s.cfg.Persist && calls.Err() == nil {
		s.record.doubt(claims, true)
		s.again.after(calls, err)
		return true
	}
	own := !s.cfg.Persist && s.failure.call(calls, err)
	// In any other case the drain's deadline has passed, and the tasks that are not acknowledged
	// are lost.
	if own || s.ending() {
		s.record.doubt(claims, false)
	}
	return false
}

// completing announces to the ledger that the deliveries are about to be completed, if the ledger
// watches completions.
func (s *slot) completing(claims []claimed) {
	if !s.cfg.Ledger.WatchesCompletions() {
		return
	}
	s.asked = s.asked[:0]
	for _, c := range claims {
		if c.verdict != ledger.Unreadable {
			s.asked = append(s.asked, c.id)
		}
	}
	s.cfg.Ledger.Completing(s.asked...)
}

// check verifies the payloads of n deliveries that were claimed at the given time. It uses the
// session's tenant as the expected tenant, not the delivery's, so that it detects a task of another
// tenant.
func (s *slot) check(n int, at int64) {
	for i := range n {
		d := &s.deliveries[i]
		if d.Queue != s.from.Queue || s.from.Tenant == "" {
			s.from = ledger.NewAddress(s.tenant, d.Queue)
		}
		s.claimed[i].id, s.claimed[i].verdict = s.cfg.Ledger.Claimed(d.Payload, s.from)
		s.claimed[i].at, s.claimed[i].attempt = at, d.Attempt
		s.outcomes[i] = nil
		if s.claimed[i].verdict == ledger.Sound {
			s.urgency.check(s.cfg.Ledger, s.claimed[i].id, s.from, d.Priority)
			if s.failing.part > 0 {
				s.cfg.Ledger.Attempted(s.claimed[i].id, d.Attempt)
			}
			s.delayed(&s.claimed[i])
			s.headers.check(s.cfg.Ledger, s.claimed[i].id, d.Headers)
			s.unique.hold(s.cfg.Ledger, s.claimed[i].id, s.from)
			s.cfg.Ledger.Delivered(s.claimed[i].id)
		}
	}
	if s.cfg.Ledger.WatchesLeases() {
		s.watch(n, time.Now())
	}
}

// watch enters the leases of n deliveries in the ledger. now is a wall-clock time after the claim.
func (s *slot) watch(n int, now time.Time) {
	for i := range n {
		d, c := &s.deliveries[i], &s.claimed[i]
		c.lease = leaseOf(d)
		if c.verdict != ledger.Unreadable {
			s.cfg.Ledger.Leased(c.id, c.lease, now)
		}
	}
}

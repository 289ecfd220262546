package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
)

// slot is one goroutine that claims and completes, a batch at a time. Its records are read only after it has returned.
type slot struct {
	*round
	number  int
	tenant  string
	session driver.Worker

	deliveries []driver.Delivery
	claimed    []claimed // what was found in each delivery
	outcomes   []error
	from       ledger.Address // of the last delivery: those of a batch are mostly of one queue

	record       settles
	again        again
	firstClaim   int64 // when the first claim returned, -1 if none did
	lastComplete int64 // when the last completion was answered, -1 if none was

	_ [64]byte // keeps the counters of two goroutines off one cache line
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
		record:     newSettles(&r.accounting),
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
				err = fmt.Errorf("the driver returned %d tasks for at most %d", n, len(s.deliveries))
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
		err = s.session.Complete(calls, s.deliveries[:n], s.outcomes[:n])
		now := s.clock.now()
		if err != nil {
			err = fmt.Errorf("load: worker slot %d: complete for %s: %w", s.number, s.tenant, err)
			if s.cfg.Persist && calls.Err() == nil {
				s.record.doubt(s.claimed[:n], true)
				s.again.after(calls, err)
				continue
			}
			own := !s.cfg.Persist && s.failure.call(calls, err)
			// Otherwise the drain's time was up: what was not acknowledged by then is lost.
			if own || s.ending() {
				s.record.doubt(s.claimed[:n], false)
			}
			return
		}
		s.again.answered()
		s.lastComplete = now
		s.record.account(s.claimed[:n], s.outcomes[:n], now)
	}
}

// check verifies the payloads of n deliveries that were claimed at a time. They are checked against the tenant that the session
// belongs to, whatever the delivery says, so that another tenant's task is found.
func (s *slot) check(n int, at int64) {
	for i := range n {
		d := &s.deliveries[i]
		if d.Queue != s.from.Queue || s.from.Tenant == "" {
			s.from = ledger.NewAddress(s.tenant, d.Queue)
		}
		s.claimed[i].id, s.claimed[i].verdict = s.cfg.Ledger.Claimed(d.Payload, s.from)
		s.claimed[i].at = at
		s.outcomes[i] = nil
	}
	if s.cfg.Ledger.WatchesLeases() {
		s.watch(n, time.Now())
	}
}

// watch enters the leases of n deliveries that were claimed by a time of the wall clock.
func (s *slot) watch(n int, now time.Time) {
	for i := range n {
		d, c := &s.deliveries[i], &s.claimed[i]
		c.lease = ledger.Lease{Token: d.Token}
		if d.UntilMs > 0 {
			c.lease.Until = time.UnixMilli(d.UntilMs)
		}
		if c.verdict != ledger.Unreadable {
			s.cfg.Ledger.Leased(c.id, c.lease, now)
		}
	}
}

package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// extending selects and extends a share of the leases of one slot.
type extending struct {
	lot                      // of attempts
	lease    time.Duration   // the new time to live of an extended lease
	extender driver.Extender // the slot's session

	deliveries []driver.Delivery // the leases of a batch to extend
	at         []int             // their indices in the batch
	outcomes   []error

	latency latencies
}

// newExtending returns the state that a slot needs if the workload extends leases. It returns an
// error if the session cannot extend leases.
func newExtending(w scenario.Workload, session driver.Worker) (extending, error) {
	if !w.ExtendsLeases() {
		return extending{}, nil
	}
	extender, ok := session.(driver.Extender)
	if !ok {
		return extending{}, fmt.Errorf("load: the driver %q can't extend leases: remove workload.extend", w.Driver)
	}
	return extending{lot: newLot(w, lotExtend, w.Extend), lease: w.Lease, extender: extender}, nil
}

// extend extends the selected leases among the first n deliveries. It returns false if the slot
// must stop.
func (s *slot) extend(calls context.Context, n int) (goOn bool) {
	e := &s.extending
	if e.part == 0 {
		return true
	}
	e.deliveries, e.at, e.outcomes = e.deliveries[:0], e.at[:0], e.outcomes[:0]
	for i := range n {
		if e.hits(&s.claimed[i]) {
			e.deliveries, e.at, e.outcomes = append(e.deliveries, s.deliveries[i]), append(e.at, i), append(e.outcomes, nil)
		}
	}
	if len(e.at) == 0 {
		return true
	}
	asked, called := time.Now(), s.clock.now()
	err := e.extender.Extend(calls, e.deliveries, e.lease, e.outcomes)
	now := s.clock.now()
	if err != nil {
		return s.unanswered(calls, "extend", nil, err)
	}
	s.again.answered()
	extended := 0
	for i, at := range e.at {
		if s.extended(at, asked, e.outcomes[i]) {
			extended++
		}
	}
	if extended > 0 && s.window.contains(now) {
		e.latency.record(now-called, extended)
	}
	return true
}

// extended enters the outcome of the extension of delivery at. asked is when the extension was
// requested. extended reports whether the server acknowledged the extension.
func (s *slot) extended(at int, asked time.Time, outcome error) bool {
	c, d, now := &s.claimed[at], &s.deliveries[at], time.Now()
	switch {
	case outcome == nil:
		c.lease = ledger.Lease{Token: d.Token, Until: asked.Add(s.extending.lease)}
		s.cfg.Ledger.Extended(c.id, c.lease, now)
		return true
	case errors.Is(outcome, driver.ErrUnknown):
		// The completion that follows will show whether the lease was still valid.
	default:
		s.record.refused.note(1, fmt.Errorf("extend: %w", outcome))
		if errors.Is(outcome, driver.ErrLeaseOver) {
			s.cfg.Ledger.ExtensionRefused(c.id, leaseOf(d), now)
		}
	}
	return false
}

func leaseOf(d *driver.Delivery) ledger.Lease {
	lease := ledger.Lease{Token: d.Token}
	if d.UntilMs > 0 {
		lease.Until = time.UnixMilli(d.UntilMs)
	}
	return lease
}

package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

// failing selects and fails a share of the deliveries of one slot.
type failing struct {
	lot                  // of attempts
	failer driver.Failer // the slot's session

	deliveries []driver.Delivery // the deliveries of a batch to fail
	claimed    []claimed
	outcomes   []error
}

// newFailing returns the state that a slot needs if the workload fails deliveries. It returns an
// error if the session cannot fail tasks.
func newFailing(w scenario.Workload, session driver.Worker) (failing, error) {
	if !w.FailsTasks() {
		return failing{}, nil
	}
	failer, ok := session.(driver.Failer)
	if !ok {
		return failing{}, fmt.Errorf("load: the driver %q can't fail tasks: remove workload.fail", w.Driver)
	}
	return failing{lot: newLot(w, lotFail, w.Fail), failer: failer}, nil
}

// fail fails the selected deliveries among the first n, and moves the remaining deliveries to the
// front. left is the number of remaining deliveries. goOn is false if the slot must stop.
func (s *slot) fail(calls context.Context, n int) (left int, goOn bool) {
	f := &s.failing
	if f.part == 0 {
		return n, true
	}
	f.deliveries, f.claimed, f.outcomes = f.deliveries[:0], f.claimed[:0], f.outcomes[:0]
	for i := range n {
		if c := s.claimed[i]; f.hits(&c) {
			f.deliveries, f.claimed, f.outcomes = append(f.deliveries, s.deliveries[i]), append(f.claimed, c), append(f.outcomes, nil)
			continue
		}
		s.deliveries[left], s.claimed[left] = s.deliveries[i], s.claimed[i]
		left++
	}
	if len(f.claimed) == 0 {
		return left, true
	}
	s.completing(s.dying(f.claimed))
	for _, c := range f.claimed {
		s.cfg.Ledger.Failing(c.id, c.attempt)
	}
	err := f.failer.Fail(calls, f.deliveries, f.outcomes)
	now := s.clock.now()
	if err != nil {
		return left, s.unanswered(calls, "fail", f.claimed, err)
	}
	s.again.answered()
	s.record.failed(f.claimed, f.outcomes)
	if left == 0 {
		s.lastComplete = now
	}
	return left, true
}

// dying returns the claims whose failure ends their task.
func (s *slot) dying(claims []claimed) (last []claimed) {
	for _, c := range claims {
		if int(c.attempt) >= s.cfg.Workload.MaxAttempts {
			last = append(last, c)
		}
	}
	return last
}

// failed enters the outcomes of failures that the server answered. A dead task is no longer in
// flight.
func (s *settles) failed(claims []claimed, outcomes []error) {
	gone := 0
	for i := range claims {
		c := &claims[i]
		switch {
		case errors.Is(outcomes[i], driver.ErrUnknown):
			gone += s.unknown(c)
		case outcomes[i] != nil:
			s.refuse(c, fmt.Errorf("fail: %w", outcomes[i]))
		default:
			dead, ended := s.ledger.Failed(c.id, c.attempt)
			if ended && c.placed() {
				gone++
			}
			if dead {
				s.recordDead(c)
			}
		}
	}
	s.settled(gone)
}

// recordDead records the cycle latency of a dead task of an open load as censored at the window's
// end, because the task was not completed by then.
func (s *settles) recordDead(c *claimed) {
	intended, scheduled := placed(c.id.IntendedNS)
	if s.untimed || s.schedule == nil || !scheduled {
		return
	}
	if s.persist && intended >= s.window.start() {
		s.back.record(s.window.end()-intended, 1)
	}
	s.censor(intended+int64(c.delay), 1)
}

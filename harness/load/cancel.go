package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

// cancelling selects and cancels a share of the leased tasks of one slot.
type cancelling struct {
	lot                        // of attempts
	canceller driver.Canceller // the slot's session
	latency   latencies        // from the call to the notice
}

// newCancelling returns the state that a slot needs if the workload cancels leased tasks. It returns
// an error if the session cannot cancel tasks.
func newCancelling(w scenario.Workload, session driver.Worker) (cancelling, error) {
	if !w.CancelsTasks() {
		return cancelling{}, nil
	}
	canceller, ok := session.(driver.Canceller)
	if !ok {
		return cancelling{}, fmt.Errorf("load: the driver %q can't cancel tasks: remove workload.cancel", w.Driver)
	}
	return cancelling{lot: newLot(w, lotCancel, w.Cancel), canceller: canceller}, nil
}

// cancel cancels the selected deliveries among the first n, and moves the remaining deliveries to the
// front. Then it tries to complete each cancelled task, which the target must refuse. left is the
// number of remaining deliveries. goOn is false if the slot must stop.
func (s *slot) cancel(calls context.Context, n int) (left int, goOn bool) {
	if s.cancelling.part == 0 {
		return n, true
	}
	for i := range n {
		c := &s.claimed[i]
		if s.cancelling.hits(c) {
			cancelled, goOn := s.cancelOne(calls, i)
			if !goOn {
				return left, false
			}
			if cancelled {
				continue
			}
		}
		s.deliveries[left], s.claimed[left] = s.deliveries[i], s.claimed[i]
		left++
	}
	return left, true
}

// cancelOne cancels the task of a delivery and reports whether the target acknowledged it.
func (s *slot) cancelOne(calls context.Context, at int) (cancelled, goOn bool) {
	c, d := &s.claimed[at], &s.deliveries[at]
	s.cfg.Ledger.Completing(c.id)
	took, err := s.cancelling.canceller.Cancel(calls, d)
	now := s.clock.now()
	switch {
	case errors.Is(err, driver.ErrUnknown):
		return false, s.unanswered(calls, "cancel", s.claimed[at:at+1], err)
	case err != nil && !errors.Is(err, driver.ErrNoNotice):
		s.record.refused.note(1, fmt.Errorf("cancel: %w", err))
		return false, true
	case err == nil && s.window.contains(now):
		s.cancelling.latency.record(int64(took), 1)
	}
	s.again.answered()
	s.lastComplete = now
	s.record.cancelled(c, err == nil)
	var outcome [1]error
	if err := s.session.Complete(calls, s.deliveries[at:at+1], outcome[:]); err != nil {
		return true, s.unanswered(calls, "complete a cancelled task", nil, err)
	}
	if outcome[0] == nil {
		s.cfg.Ledger.Completed(c.id)
	}
	return true, true
}

// cancelled enters an acknowledged cancellation in the ledger. The task is no longer in flight, and
// its cycle never ends.
func (s *settles) cancelled(c *claimed, noticed bool) {
	if s.ledger.Cancelled(c.id, noticed) && c.placed() {
		s.settled(1)
	}
	s.recordDead(c)
}

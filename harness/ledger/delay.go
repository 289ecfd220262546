package ledger

import (
	"fmt"
	"time"
)

// DelayTolerance is how long before the end of its delay a task may be claimed. A server that
// measures time in whole milliseconds may truncate the time of the enqueue, so the delay may end up
// to a millisecond early.
const DelayTolerance = time.Millisecond

// ClaimedDelayed records the claim of a task with a delay. late is the time from the end of the
// delay to the claim, measured by the clock of the intended start. A task that is claimed more than
// DelayTolerance before the end of its delay counts as early.
func (l *Ledger) ClaimedDelayed(id Identity, delay, late time.Duration) {
	l.faults.delayed.Add(1)
	if late < -DelayTolerance {
		l.faults.add(&l.faults.early, 1, fmt.Sprintf("early: %s, enqueued with a delay of %v, was claimed %v before the delay ended", id, delay, -late))
	}
}

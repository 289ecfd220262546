package ledger

import (
	"fmt"
	"time"
)

// DelayTolerance is by how much earlier than its delay says a task may be claimed: a server counts time in whole milliseconds, and may have cut
// up to one off the time of the enqueue.
const DelayTolerance = time.Millisecond

// ClaimedDelayed says that a task with a delay was claimed, so long after its delay was over, on the clock that its intended start is of. A
// task that is claimed before, by more than DelayTolerance, counts as early.
func (l *Ledger) ClaimedDelayed(id Identity, delay, late time.Duration) {
	l.faults.delayed.Add(1)
	if late < -DelayTolerance {
		l.faults.add(&l.faults.early, 1, fmt.Sprintf("early: %s, enqueued with a delay of %v, was claimed %v before it was due", id, delay, -late))
	}
}

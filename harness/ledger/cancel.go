package ledger

import "fmt"

// Cancelled records that the cancellation of a leased task was acknowledged. noticed is true if the
// worker that holds the lease was notified; otherwise the task counts as unnoticed. ended is as in
// Completed. A later completion of the task counts as duplicated.
func (l *Ledger) Cancelled(id Identity, noticed bool) (ended bool) {
	if !l.knows(id) {
		return false
	}
	a := &l.accounts[id.Producer]
	a.mu.Lock()
	if a.outstanding(id.Sequence) {
		ended = a.cancel(id.Sequence)
	}
	a.mu.Unlock()
	if !noticed {
		l.faults.add(&l.faults.unnoticed, 1, fmt.Sprintf("unnoticed: %s was cancelled while it was leased, and its worker was not notified", id))
	}
	return ended
}

// cancels reports whether tasks of the account were cancelled.
func (a *account) cancels() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cancelled > 0
}

// cancel records that an outstanding task is cancelled, and reports whether the task ended with this
// call.
func (a *account) cancel(sequence uint64) (ended bool) {
	known, ended := a.settle(sequence)
	a.cancelled++
	if !known {
		if a.cancelledEarly == nil {
			a.cancelledEarly = map[uint64]bool{}
		}
		a.cancelledEarly[sequence] = true
	}
	delete(a.leases, sequence)
	delete(a.attempts, sequence)
	return ended
}

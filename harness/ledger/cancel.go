package ledger

import "fmt"

// Cancelled records that the cancellation of a leased task was acknowledged. noticed
// reports whether the worker that holds the lease was notified; otherwise the task counts as
// unnoticed. Cancelled reports whether the task ended with this call: see Completed. If the task is completed later, that completion counts as duplicated.
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
// call. The flag completed is set for cancelled tasks too.
func (a *account) cancel(sequence uint64) (ended bool) {
	at := a.find(sequence)
	p := a.live[at]
	ended = !over(p.tasks[sequence%pageTasks])
	a.update(p, sequence%pageTasks, completed)
	a.cancelled++
	if p.tasks[sequence%pageTasks]&answered == 0 {
		if a.cancelledEarly == nil {
			a.cancelledEarly = map[uint64]bool{}
		}
		a.cancelledEarly[sequence] = true
	}
	delete(a.leases, sequence)
	delete(a.attempts, sequence)
	a.release(at)
	return ended
}

package ledger

import "fmt"

// WatchOrder makes the ledger check the order of tasks. A task counts as reordered if it is claimed
// from a queue after a later task of the same producer. Only the first claim of a task is checked.
// WatchOrder must be called before the first task is sent. The queue is responsible for the count
// only if nothing else can change the order between the queue and Claimed. Each tenant must
// therefore have only one worker slot, whose claims are recorded in order.
//
// The check needs one bit in the state of each task, and one number for each pair of a producer and
// a queue that it sends to.
func (l *Ledger) WatchOrder() {
	for i := range l.accounts {
		l.accounts[i].order = map[uint64]uint64{}
	}
}

// inOrder records the claim of a task from a queue, if the order is watched.
func (l *Ledger) inOrder(id Identity, from Address) {
	a := &l.accounts[id.Producer]
	if a.order == nil {
		return
	}
	a.mu.Lock()
	after, ok := a.claim(id.Sequence, from.hash)
	a.mu.Unlock()
	if !ok {
		l.faults.add(&l.faults.reordered, 1,
			fmt.Sprintf("reordered: %s was claimed from %s/%s after task %d", id, from.Tenant, from.Queue, after))
	}
}

// claim records that a task was claimed from the queue of a route. ok is false if a later task of
// the route was claimed before; after is then the latest such task. ok is true for tasks that were
// claimed before, are settled, or were never sent.
func (a *account) claim(sequence, route uint64) (after uint64, ok bool) {
	if sequence >= a.sent {
		return 0, true
	}
	at := a.find(sequence)
	if at < 0 || a.live[at].tasks[sequence%pageTasks]&delivered != 0 {
		return 0, true
	}
	a.live[at].tasks[sequence%pageTasks] |= delivered
	next := a.order[route] // sequence number of the latest claimed task, plus one
	if sequence < next {
		return next - 1, false
	}
	a.order[route] = sequence + 1
	return 0, true
}

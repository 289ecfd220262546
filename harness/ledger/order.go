package ledger

import "fmt"

// WatchOrder makes the ledger count as reordered each task that is claimed from a queue after a
// later task of the same producer, the first time that it is claimed. It must be called before the
// first task is sent. The count is attributable to the queue only if nothing else can change the
// order between the queue and Claimed: each tenant must have one worker slot, whose claims are
// entered in order. A task that is delivered again is not checked.
//
// The check uses one bit of the state of each task, and one number for each pair of a producer and
// a queue that it sends to.
func (l *Ledger) WatchOrder() {
	for i := range l.accounts {
		l.accounts[i].order = map[uint64]uint64{}
	}
}

// inOrder enters that a task was claimed from a queue, if the order is watched.
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

// claim notes that a task was claimed from the queue of a route. ok is false if a later task was
// claimed before; after is then the latest such task. Tasks that were claimed before, are settled,
// or were never sent are accepted.
func (a *account) claim(sequence, route uint64) (after uint64, ok bool) {
	if sequence >= a.sent {
		return 0, true
	}
	at := a.find(sequence)
	if at < 0 || a.live[at].tasks[sequence%pageTasks]&delivered != 0 {
		return 0, true
	}
	a.live[at].tasks[sequence%pageTasks] |= delivered
	next := a.order[route] // latest task plus one
	if sequence < next {
		return next - 1, false
	}
	a.order[route] = sequence + 1
	return 0, true
}

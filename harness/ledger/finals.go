package ledger

import "fmt"

// WatchFinals makes the ledger check the final tasks of batches. Each size consecutive tasks of a
// producer are a batch: the final task, and its members, which it waits for. A final task that is
// delivered before the completion of each of its members was requested counts as premature.
//
// WatchFinals must be called before the first task is sent. The caller must then call Delivered for
// each delivery, after Claimed, and Completing before it requests completions.
func (l *Ledger) WatchFinals(size int) { l.batchSize = uint64(size) }

// Delivered records the delivery of a task. It does nothing unless final tasks are watched.
func (l *Ledger) Delivered(id Identity) {
	if l.batchSize == 0 || id.Sequence%l.batchSize != 0 || !l.knows(id) {
		return
	}
	l.faults.finals.Add(1)
	a := &l.accounts[id.Producer]
	a.mu.Lock()
	unasked, first := a.unasked(id.Sequence+1, l.batchSize-1)
	a.mu.Unlock()
	if unasked > 0 {
		l.faults.add(&l.faults.premature, 1, fmt.Sprintf("premature: %s, the final task of a batch, was delivered before the completion of %d of its %d members was requested, such as task %d",
			id, unasked, l.batchSize-1, first))
	}
}

// unasked returns the number of those of n consecutive tasks that can't be completed yet, because
// their completion was not requested, and the first of them.
func (a *account) unasked(from, n uint64) (unasked int, first uint64) {
	const asked = completionAsked | completed | completionInDoubt | refused
	for sequence := from; sequence < from+n; sequence++ {
		at := a.find(sequence)
		if at < 0 || a.live[at].tasks[sequence%pageTasks]&asked != 0 {
			continue
		}
		if unasked == 0 {
			first = sequence
		}
		unasked++
	}
	return unasked, first
}

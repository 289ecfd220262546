package ledger

import "fmt"

// Repeated records that a task was enqueued twice under its idempotency key and that both enqueues
// were acknowledged. first and second are the IDs that the target returned. The task counts as
// rekeyed if the IDs differ, because an enqueue with a known key must return the ID of the first
// task.
func (l *Ledger) Repeated(id Identity, key, first, second string) {
	l.faults.repeated.Add(1)
	if first != second {
		l.faults.add(&l.faults.rekeyed, 1, fmt.Sprintf("rekeyed: %s was enqueued as %q under the key %q, and again as %q", id, first, key, second))
	}
}

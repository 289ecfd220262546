package ledger

import "fmt"

// Repeated says that a task was enqueued again under its idempotency key and that both enqueues were acknowledged, with the ids that the target
// answered. It counts as rekeyed if the second id is not the first one: the key must lead to the first task.
func (l *Ledger) Repeated(id Identity, key, first, second string) {
	l.faults.repeated.Add(1)
	if first != second {
		l.faults.add(&l.faults.rekeyed, 1, fmt.Sprintf("rekeyed: %s was enqueued as %q under the key %q, and again as %q", id, first, key, second))
	}
}

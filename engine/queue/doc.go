// Package queue is the state machine of one shard: tasks, leases, retries. It is pure: no I/O, no clock, no goroutine. Given the same
// calls at the same times it makes the same decisions, so that a test can run it against a model.
//
// # Usage
//
// New makes a State from a Config, a Journal for its mutations, and what a store recovered. The caller then makes turns:
//
//	state.Tick(now)                     // leases expire, delayed tasks become due
//	state.Enqueue(now, tenant, ...)     // any number of decisions at that time: Enqueue, Settle, Subscribe, Cancel, Purge, ...
//	grants := state.Dispatch(now, nil)  // leases ready tasks to the waiters
//	if state.Flush() {                  // writes what is stored once per commit: queue records, counters
//		// commit the journal's writes
//	}
//	// answer, and hand out the grants, once the commit is durable
//	for _, r := range state.Refills() { // read the store, and answer in a later turn: RefillFresh, RefillReturned, ...
//	}
//
// Memory does not grow with the backlog: each lane keeps a window of its next tasks, and a Refill asks for more when a window is empty
// (lane.go draws the windows). A turn's work is bounded by TurnMax items of each kind; Unfinished and NextDeadlineMs say when the next
// turn is due.
//
// # Concurrency
//
// A State is not safe for concurrent use: one goroutine owns it. An Account and a Pool are shared by the states of several shards.
//
// # Errors
//
// Enqueue and Settle give each item its own error: ErrTooManyQueues, ErrStaleToken or a *QuotaError. Limits checks input at the
// server's edge and returns a *FieldError. A broken invariant is a panic with a *BrokenError: the caller recovers it with Broken,
// discards the journal's writes, and stops using the state.
//
// # Layouts
//
// A task's ID says where the task is, so that a lookup needs no index. Its 15 bytes, big-endian, are written as 24 letters and digits:
//
//	│ shard 2 │ queue 4 │ priority 1 │ seq 8 │
//
// The seq is the task's number in its queue, and never issued again. A fencing token is the number of a lease batch, which only grows,
// and the task's place in that batch:
//
//	│ lease batch 52 bits │ place 12 bits │
package queue

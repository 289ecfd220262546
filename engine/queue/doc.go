// Package queue is the state machine of one shard: tasks, leases, retries. It has no I/O, no clock
// and no goroutine. Given the same calls at the same times it makes the same decisions, so that a
// test can compare it with a model.
//
// # Usage
//
// New makes a State from a Config, a Journal for its mutations, and the contents of a store. The
// caller then runs turns:
//
//	state.Tick(now)                     // leases expire, delayed tasks become due
//	state.Enqueue(now, tenant, ...)     // any number of decisions at this time: Enqueue, Settle, Subscribe, Cancel, Purge, ...
//	grants := state.Dispatch(now, nil)  // leases ready tasks to the waiters
//	if state.Flush() {                  // writes the records that are stored once per commit: queues with their counters
//		// commit the journal's writes
//	}
//	// send the answers and the grants once the commit is durable
//	for _, r := range state.Refills() { // read the store, and answer in a later turn: RefillFresh, RefillReturned, ...
//	}
//
// Memory does not grow with the backlog: each lane keeps a window of its next tasks, and a Refill
// asks for more when a window is empty (lane.go draws the windows). TurnMax bounds a turn's work of
// each kind. Unfinished and NextDeadlineMs determine when the next turn is due.
//
// # Concurrency
//
// A State is not safe for concurrent use: one goroutine owns it. The states of several shards share
// Accounts and Pools, which are safe for concurrent use.
//
// # Errors
//
// Enqueue and Settle return an error for each item: ErrTooManyQueues, ErrStaleToken or a
// *QuotaError. Limits checks input before it reaches a State, and returns a *FieldError. A broken
// invariant is a panic with a *BrokenError: the caller recovers it with Broken, discards the
// journal's writes, and stops using the state.
//
// # Layouts
//
// A task's ID contains its location, so that a lookup needs no index. Its 15 bytes, big-endian, are
// written as 24 letters and digits:
//
//	│ shard 2 │ queue 4 │ priority 1 │ seq 8 │
//
// The seq is the task's number in its queue, which is never issued again. A fencing token consists
// of the number of a lease batch, which only grows, and the task's place in the batch:
//
//	│ lease batch 52 bits │ place 12 bits │
package queue

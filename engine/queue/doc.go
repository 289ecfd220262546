// Package queue is the state machine of one shard: tasks, leases, retries. It uses no I/O, no clock
// and no goroutine. Its decisions depend only on the calls and the times passed to them, so that a
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
// Memory does not grow with the backlog: each lane keeps only a window of its next tasks in memory,
// and requests more with a Refill when the window is empty (see the figure in lane.go). TurnMax
// limits the work of each kind in a turn. Unfinished and NextDeadlineMs determine when the next
// turn is due.
//
// # Parts
//
// A State embeds its parts, and its own methods are the commands that need several of them. A part
// uses only env and the parts that it names:
//
//	env           configuration, journal, time, requested Refills
//	accounts      what the queues have freed, but not yet subtracted from the tenants' accounts
//	watches       tasks whose changes or ends the caller needs to know
//	queues        the table of queues, and the queues that need work: accounts
//	lanes         tasks that are neither leased nor dead, by queue and priority: queues, watches
//	leases        lease batches, their expiries and extensions: queues
//	dependencies  what tasks wait for, and the messages about their ends: accounts, queues, watches, leases
//	retention     keys, results, histories of tasks and queues, times to live, dead letters: accounts, queues, watches, dependencies
//	cancelled     leases that ended because their tasks were cancelled
//	recurring     recurring tasks, in the order of their names and of their next runs
//	limiter       limits of queues and groups, parked tasks: queues, lanes, leases
//	dispatcher    waiters, their credit and their turns: queues, lanes, leases, retention, limiter
//
// # Concurrency
//
// A State is not safe for concurrent use: one goroutine owns it. Several states may share Accounts
// and Pools, which are safe for concurrent use.
//
// # Errors
//
// Enqueue and Settle return an error for each item: ErrTooManyQueues, ErrStaleToken, ErrCancelled or
// a *QuotaError. The caller checks input with Limits, which returns a *FieldError, before it passes
// the input to a State. A broken invariant is a panic with a *BrokenError: the caller recovers it
// with Broken, discards the journal's writes, and stops using the state.
//
// # Layouts
//
// A task's ID contains its location, so that a lookup needs no index. It consists of 15 bytes,
// big-endian, which are written as 24 letters and digits:
//
//	│ shard 2 │ queue 4 │ priority 1 │ seq 8 │
//
// The seq is the number of the task in its queue. A queue never issues the same seq again. A
// fencing token consists of the number of a lease batch and the task's place in the batch. Each new
// batch has a higher number than all earlier batches:
//
//	│ lease batch 52 bits │ place 12 bits │
package queue

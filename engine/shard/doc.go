// Package shard runs the state machine of package queue on a store of package storage: it decides commands one after the other,
// commits what waited at once, and answers after the commit.
//
// # Phases
//
// A turn takes commands through four phases. Two goroutines carry them out, so that deciding and the disk overlap:
//
//		callers                deciding goroutine                       publishing goroutine
//
//		Enqueue ─┐
//		Settle  ─┼─▶ inbox ──▶ drain ──▶ decide ──▶ commit ───────────▶ publish ──▶ answers, leased tasks
//		Claim   ─┘             all that  queue.     storage.Batch       in order,
//		                       waits     State      .Submit             once durable
//
//	  - Drain (drain.go) takes all commands out of the inbox. Before that, the goroutine yields the processor once, so that callers that
//	    are about to send a command join the turn.
//	  - Decide (decide.go) applies each command to the state machine, and then leases ready tasks to waiters. The state writes its
//	    mutations to a batch.
//	  - Commit (commit.go) hands the batch to the store, or in a cluster to the shard's log, and does not wait for it.
//	  - Publish (publish.go) waits until the batch is durable, in the order of the turns. Only then answers and leased tasks go out.
//
// This is group commit: one commit, and so one fsync, serves all commands that waited. A turn has one command on an idle shard and
// hundreds on a busy one. No timer delays a turn.
//
// # Usage
//
// New recovers one Shard from its store; NewGroup recovers all shards of a server, and NewClusterGroup begins with none and gets them
// with Group.Lead. A Group places tasks, finds the shard of an id, splits batches, and merges answers. Close a group before its
// stores.
//
// # Concurrency
//
// The methods of Shard, Group and their subscriptions are safe for concurrent use. A call puts a command into the inbox, which blocks
// for an append at most, and returns. The reply function is called later, once, usually by the publishing goroutine: it must not
// block, and must not call Close. Only the deciding goroutine touches the state machine. What takes long, such as a list or a lookup
// in the store, runs in a goroutine of its own and joins a later turn (examine.go, refill.go, figures.go).
//
// # Errors
//
// ErrOverloaded, ErrClosed, ErrNotLeader and a *disk.FullError refuse a command: nothing was done. ErrUnknownOutcome says that the
// command may or may not take effect. A failed commit, an unreadable record or a broken invariant of the state machine
// (*queue.BrokenError) stops the shard: Options.Failed is called once, and every command gets the error. The turn that broke the
// invariant is not committed, so that the store stays as the turns before left it.
package shard

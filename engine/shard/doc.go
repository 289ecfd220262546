// Package shard runs the state machine of package queue on a store of package storage. It decides
// commands one after the other, groups the commands that wait into one commit, and answers them
// after the commit.
//
// # Phases
//
// A turn takes commands through four phases. Two goroutines run them, so that deciding overlaps
// with waiting for the disk:
//
//	callers                deciding goroutine                       publishing goroutine
//
//	Enqueue ─┐
//	Settle  ─┼─▶ inbox ──▶ drain ──▶ decide ──▶ commit ───────────▶ publish ──▶ answers, leased tasks
//	Claim   ─┘             all that  queue.     storage.Batch       in order,
//	                       waits     State      .Submit             once durable
//
// In detail:
//
//   - Drain (drain.go) takes all commands out of the inbox. Before that, the goroutine yields the
//     processor once, so that callers that are about to send a command join the turn.
//   - Decide (decide.go) applies each command to the state machine, and then leases ready tasks to
//     waiters. The state writes its mutations to a batch.
//   - Commit (commit.go) submits the batch to the store, or in a cluster proposes it to the shard's
//     log. It does not wait until the batch is durable.
//   - Publish (publish.go) waits until the batch is durable, in the order of the turns. Only then
//     it sends answers and leased tasks.
//
// This is group commit: one commit, and so one fsync, serves all commands that waited. A turn has
// one command on an idle shard and hundreds on a busy one. No timer delays a turn.
//
// # Usage
//
// New recovers one Shard from its store. NewGroup recovers all shards of a server. NewClusterGroup
// begins without shards; Group.Lead adds them. A Group places tasks, finds the shard of an id,
// splits batches, and merges answers. Close a group before its stores.
//
// # Ordering
//
// Every order follows from the order of decisions. Turns are decided one after the other, submitted
// in that order, passed through Shard.pipe in that order, and published in that order. A state that
// a later turn reads may contain mutations of turns that are not durable yet. This is safe, because
// the publishing goroutine waits for the commits of all earlier turns before it publishes a turn.
// An answer therefore never depends on a mutation that is less durable than the answer's own
// commit, in the store's durability mode.
//
// If a commit fails, the decisions after it were made from a state that the store does not have.
// The store and the log fail all later commits: a broken store accepts no further batch, and a
// replicated store skips an entry whose predecessor it did not apply. Turns that committed nothing
// have no commit that could fail, so publish fails them with the first error. A replicated shard
// has a second hazard: its node may have lost the leadership without noticing. A turn that
// committed nothing but gives answers therefore asks the log to confirm the leadership
// (storage.Log.Verify) first.
//
// Reads of the store need care, because they see only submitted batches, and in a replicated store
// only applied ones. Before a decision reads the store, either all earlier decisions are visible
// there (commitEarly), or the reading runs in the background and a later turn checks whether the
// tasks changed in between (examine.go, refill.go).
//
// Within one turn, deliveries are published before answers: a subscription receives its last tasks
// before it learns that it is closed.
//
// # Concurrency and ownership
//
// The methods of Shard, Group and their subscriptions are safe for concurrent use. A call appends a
// command to the inbox and returns. It holds the inbox lock for the append only, and never waits
// for the disk. Each accepted command is answered once, also if the shard fails or stops. The
// publishing goroutine usually calls the reply function, so a reply function must not block and
// must not call Close.
//
//   - The deciding goroutine owns the state machine, the batch, and the fields of Shard that are
//     grouped under its name. No other goroutine may touch them, so they need no lock. In exchange,
//     the deciding goroutine must not do slow work: while it waits, no command of the shard makes
//     progress. It waits only for room in the pipe, until the store or the log accepts a batch, in
//     commitEarly, and for new work.
//   - The publishing goroutine owns a turn, its commands and its grants from the moment they enter
//     the pipe. It may read the store, but not the state machine. To change the state it puts a
//     command into the inbox, as any caller does.
//   - Lists, lookups and refills read the store in separate goroutines, which Shard.reading counts.
//     They pass their results to the deciding goroutine with inbox.resume, which a closed inbox
//     accepts too.
//
// A full pipe (commitsMax turns) blocks the deciding goroutine. The inbox then fills up, and put
// refuses commands with ErrOverloaded. So a slow disk slows down callers instead of growing memory.
//
// # Shutdown
//
// Close closes the inbox and waits. The deciding goroutine continues until no command waits and no
// examine or refill that it accepted is unfinished. Then it sends a last turn with all unanswered
// waits, closes the pipe and ends. The publishing goroutine publishes the remaining turns and ends.
// Last, Close waits for the readings in the background.
//
// # Errors
//
// ErrOverloaded, ErrClosed, ErrNotLeader and a *disk.FullError refuse a command: it had no effect.
// ErrUnknownOutcome means that the command may or may not take effect. A failed commit, an
// unreadable record or a broken invariant of the state machine (*queue.BrokenError) stops the
// shard: it calls Options.Failed once, and answers every command with the error. It does not commit
// the turn that broke the invariant, so the store keeps the result of the turns before.
package shard

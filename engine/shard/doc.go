// Package shard runs the state machine of package queue on a store of package storage. It decides
// commands one after the other, commits the decisions about all waiting commands together, and
// answers the commands after the commit.
//
// # Phases
//
// A turn takes commands through four phases. Two goroutines run the phases, so that deciding
// overlaps with waiting for the disk:
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
//   - Publish (publish.go) takes the turns in order and waits until the batch of each is durable.
//     Only then does it send answers and leased tasks.
//
// This is group commit: one commit, and so one fsync, serves all commands that waited. A turn
// contains one command on an idle shard and hundreds on a busy shard. No timer delays a turn.
//
// # Usage
//
// New recovers one Shard from its store. NewGroup recovers all shards of a server. NewClusterGroup
// returns a Group without shards; Group.Lead adds them. A Group places tasks, finds the shard of an
// id, splits batches, and merges answers. Close a group before its stores.
//
// # Ordering
//
// Turns are decided one after the other. They are submitted, passed through Shard.pipe, and
// published in the same order. A turn may read state that earlier turns changed and that is not
// durable yet. This is safe, because the publishing goroutine waits for the commits of all earlier
// turns before it publishes a turn. So an answer never depends on a mutation that is less durable
// than the store's durability mode requires.
//
// If a commit fails, later decisions may rely on mutations that the store never applied. The store
// and the log therefore fail all later commits: a broken store accepts no further batch, and a
// replicated store skips an entry whose predecessor it did not apply. Turns that committed nothing
// have no commit that could fail, so the publisher fails them with the first error. A replicated
// shard has a second hazard: its node may have lost the leadership without noticing. If a turn
// committed nothing, but its answers depend on the state, the shard therefore first asks the log to
// confirm the leadership (storage.Log.Verify).
//
// Reads of the store see only submitted batches; in a replicated store, only applied batches. A
// decision that needs a read therefore uses one of two ways. commits.submitEarly makes all earlier
// decisions visible in the store before the read. Or the read runs in the background, and a later
// turn corrects the result for the changes since then (examine.go, refill.go).
//
// Within one turn, deliveries and cancelled leases are published before answers: a subscriber
// receives its last tasks before Close reports the end of the subscription, and learns of a
// cancelled task before the caller that cancelled it.
//
// # Concurrency and ownership
//
// The methods of Shard, Group and their subscriptions are safe for concurrent use. A call appends a
// command to the inbox and returns. It holds the inbox lock for the append only, and never waits
// for the disk. Each accepted command is answered once, even if the shard fails or stops. The
// publishing goroutine usually calls the reply function, so a reply function must not block and
// must not call Close.
//
//   - The deciding goroutine owns the decider, and with it the state machine and the batch. No other
//     goroutine may touch them, so they need no lock; a Shard has no reference to them. In exchange,
//     the deciding goroutine must not do slow work: while it waits, no command of the shard makes
//     progress. It blocks only for four reasons: the pipe is full, the store or the log has not
//     accepted a batch yet, commits.submitEarly waits, or there is no work.
//   - The publishing goroutine owns the publisher. It also owns a turn, its commands and its grants
//     from the moment they enter the pipe. It may read the store, but not the state machine. To change the state it puts a
//     command into the inbox, as any caller does.
//   - Lists, lookups and refills read the store in separate goroutines, which Shard.reading tracks.
//     Lookups and refills pass their results to the deciding goroutine with inbox.resume, which
//     works even if the inbox is closed.
//   - The goroutines of couriers deliver messages about tasks that wait for others. They exist only
//     while such messages are stored, and pass commands to the inbox as any caller does.
//
// A full pipe (commitsMax turns) blocks the deciding goroutine. The inbox then fills up, and put
// refuses commands with ErrOverloaded. So a slow disk slows down callers instead of growing memory.
//
// # Shutdown
//
// Close closes the inbox and waits. The deciding goroutine continues until the inbox is empty and
// all accepted examines and refills are finished. Then it sends a last turn that answers all open
// waits, closes the pipe and ends. The publishing goroutine publishes the remaining turns and ends.
// Finally, Close waits for the goroutines that read the store.
//
// # Errors
//
// A command that fails with ErrOverloaded, ErrClosed, ErrNotLeader or a *disk.FullError had no
// effect. ErrUnknownOutcome means that the command may or may not take effect. A failed commit, an
// unreadable record or a broken invariant of the state machine (*queue.BrokenError) stops the
// shard: it calls Options.Failed once, and answers every command with the error. It does not commit
// the turn that broke the invariant, so the store contains only the results of earlier turns.
package shard

// Package replica implements one member of a shard's Raft group. The group replicates the shard to
// several nodes.
//
// # Usage
//
// Open starts a member with its store, its log (package logs) and a transport. Elections of leaders
// then need no further calls. While this node leads, its Host runs the shard:
//
//	elected ──▶ commit the first entry of a tenure ──▶ Host.Lead(store, log) ──▶ ... ──▶ Host.Lose ──▶ hand over
//	                                                        │
//	             shard ── storage.Batch ──▶ log.Propose ────┘   an entry of the Raft log
//	                                            │ majority
//	                                            ▼
//	             each member: machine.ApplyBatch ──▶ storage.Store.Apply
//
// The leader decides before the group commits an entry, and answers its client after the commit. An
// entry takes effect only if the tenure that proposed it has not ended; otherwise its proposal
// fails with storage.ErrSkipped. If the in-memory state of a tenure is ahead of the store, Restart
// ends the tenure and starts another one. Transfer hands leadership over once a successor is ready
// (handover.go).
//
// Reads do not go through the log. Instead, type questions sends heartbeats after a read has
// arrived, and thus asks a majority of the voters whether this node still leads. If the leader's
// process dies, replaceLeader makes a follower stand for election without waiting for the election
// timeout.
//
// # Snapshots
//
// A snapshot is the store itself. After Options.SnapshotBytes of applied entries, cutLog flushes
// the store and truncates the log. Before the truncation, it writes to the store all tasks and
// leases that exist only in the entries to be removed. spaceLog retains entries that the store
// still needs. A follower that needs entries that were removed receives a copy of the leader's
// whole store (install.go), and checks it before installing it.
//
// # Parts
//
// A Replica consists of raftGroup (Raft, and questions to the other voters), localStore (the store
// and its newest snapshot), membership, leadership (tenures and hand-overs), candidacy (elections
// after the leader has died) and upkeep (truncating the log).
//
// # Concurrency
//
// A Replica's methods are safe for concurrent use. One goroutine, lead, starts and ends all
// tenures, so Host.Lead and Host.Lose never run concurrently. Raft calls machine from another
// goroutine. The mutex inUse is read-locked during a tenure, a flush and a checkpoint. It is
// write-locked while an installed snapshot replaces the store.
//
// # Errors
//
// The error of a failed proposal reports whether the proposal may have taken effect:
// shard.ErrNotLeader means that it did not, shard.ErrUnknownOutcome that it may have. Membership
// changes return ErrNoMember, ErrMembersChanged or Raft's error. An error of the store or the log
// is passed to Host.Failed, and the node ends. If a check finds damage in the store, the member
// hands leadership over, and Damage returns the remedy.
package replica

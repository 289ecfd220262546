// Package replica is one member of a shard's Raft group: it keeps the copies of the shard on several nodes the same.
//
// # Usage
//
// Open starts a member with its store, its log (package logs) and a transport. The member elects and follows leaders by itself. While
// this node leads, its Host runs the shard:
//
//	elected ──▶ commit the first entry of a tenure ──▶ Host.Lead(store, log) ──▶ ... ──▶ Host.Lose ──▶ hand over
//	                                                        │
//	             shard ── storage.Batch ──▶ log.Propose ────┘   an entry of the Raft log
//	                                            │ majority
//	                                            ▼
//	             each member: machine.ApplyBatch ──▶ storage.Store.Apply
//
// The leader decides before an entry is agreed on, and answers after. An entry takes effect only in the tenure that decided it:
// storage.ErrSkipped. Restart ends a tenure whose state is ahead of the store and begins another one; Transfer hands leadership over once a
// successor is ready (handover.go).
//
// A read needs leave: questions asks a majority of the voters whether this node still leads, after the read arrived. Once the leader's
// process is gone, replaceLeader has a follower stand for election without waiting for the election timeout.
//
// # Snapshots
//
// The store is the snapshot. cutLog flushes the store when Options.SnapshotBytes were applied, and then cuts the log. Before that it stores the
// tasks and leases that only the entries have that are to go; spaceLog keeps entries that the store still needs. A follower that
// needs older entries gets a copy of the leader's whole store (install.go), checked before it is installed.
//
// # Concurrency
//
// A Replica's methods are safe for concurrent use. One goroutine, lead, begins and ends tenures, so that Host.Lead and Host.Lose are
// never called at the same time. Raft calls machine from a goroutine of its own. The mutex inUse is read-locked during a tenure, a flush
// and a checkpoint, and locked while an installed snapshot replaces the store.
//
// # Errors
//
// A proposal that fails says whether it can have taken effect: shard.ErrNotLeader (nothing was done) or shard.ErrUnknownOutcome.
// Changes of members return ErrNoMember, ErrMembersChanged or Raft's error. An error of the store or the log ends the node:
// Host.Failed. Damage that a check of the store finds makes the member hand leadership over, and Damage names the remedy.
package replica

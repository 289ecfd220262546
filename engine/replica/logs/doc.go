// Package logs stores the Raft logs and stable stores (terms and votes) of all groups of a node in
// one Pebble store, so that one fsync serves all groups.
//
// # Usage
//
// Open opens the Store of a node. Store.Group returns the log and stable store of one Raft group;
// it implements raft.LogStore and raft.StableStore. StoreLogs returns once the entries are as
// durable as Options.Durability requires. A vote, and the term stored before it, survive a power
// loss in every mode: a node that lost its vote could vote twice in a term. For an election, each
// voter must fsync a small file that contains only terms and votes (votes.go), so appends to the
// logs do not delay the vote. In the modes interval and none, a vote may survive a power loss
// although earlier entries are lost.
//
// # Concurrency
//
// Store and Group are safe for concurrent use: Raft appends to a log and truncates it from two
// goroutines, and reads it from others. Changes of one log are serialized. FirstIndex and LastIndex
// read only memory.
//
// # Errors
//
// Calls after Close return ErrClosed. Reading a value that was never set returns ErrNotFound.
// Reading an index outside the log returns raft.ErrLogNotFound. After a failed write or fsync,
// Options.Fatal ends the process. Open refuses a store that is damaged or was written by a newer
// version.
//
// # Layout
//
// Integers are big-endian, so keys sort in the order of their fields:
//
//	│ group 2 │ 'e' │ index 8 │   an entry of the group's log
//	│ group 2 │ 'n' │ name    │   a number of the stable store: terms
//	│ group 2 │ 's' │ name    │   a text of the stable store: the vote
//	│ group 2 │ 'v' │             the number of changes of the stable store
//
// The record of an entry has the following layout. It does not contain the index, which is in the
// key. The time is the time at which the leader appended the entry:
//
//	│ format 1 │ type 1 │ term 8 │ seconds 8 │ nanoseconds 4 │ length of extensions: uvarint │ extensions │ data │
//
// The record of a number or text is the format byte followed by the value. Reading a record with
// another format byte fails.
package logs

// Package logs stores the Raft logs and stable stores (terms and votes) of all groups of a node in
// one Pebble store, so that one fsync serves all groups.
//
// # Usage
//
// Open opens the Store of a node. Store.Group returns the log and stable store of one Raft group,
// which implement raft.LogStore and raft.StableStore. StoreLogs returns once the entries are as
// durable as Options.Durability requires. A vote, and the term stored before it, survives a power
// loss in every mode: a node that forgot its vote could vote twice in a term. An election costs
// each voter one fsync of a small file that holds only terms and votes (votes.go), so appends to
// the logs do not delay the vote. Under interval and none, a vote may survive without the entries
// before it.
//
// # Concurrency
//
// Store and Group are safe for concurrent use: Raft appends to a log and truncates it from two
// goroutines, and reads it from others. Changes of one log are serialized. Reading the bounds of a
// log reads only memory.
//
// # Errors
//
// Calls after Close return ErrClosed. Reading a value that was never set returns ErrNotFound, and
// an index outside the log raft.ErrLogNotFound. A failed write or fsync ends the process through
// Options.Fatal. Open refuses a store that is damaged or was written by a newer version.
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
// The record of an entry follows. The index is in the key; the time is when the leader appended the
// entry:
//
//	│ format 1 │ type 1 │ term 8 │ seconds 8 │ nanoseconds 4 │ length of extensions: uvarint │ extensions │ data │
//
// The record of a number or text is the format byte followed by the value. A record with another
// format byte is refused.
package logs

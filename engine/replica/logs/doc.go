// Package logs stores the Raft logs and the stable stores (terms and votes) of all groups of a node in one Pebble, so that one fsync
// serves all groups.
//
// # Usage
//
// Open opens the Store of a node; Store.Group returns the log and stable store of one Raft group, which implement raft.LogStore and
// raft.StableStore. Appended entries are as durable as Options.Durability says when StoreLogs returns. A vote, and the term that was stored
// before it, survives a loss of power in every mode: a node that forgot its vote could vote twice in a term. An election costs each voter
// one fsync, of a small file that holds nothing else (votes.go): what is appended to the logs does not delay the vote. Under interval and
// none a vote may survive without the entries before it.
//
// # Concurrency
//
// Store and Group are safe for concurrent use: Raft appends to a log and truncates it from two goroutines, and reads it from others.
// Changes of one log are made one after the other; reading the bounds of a log reads memory only.
//
// # Errors
//
// Calls after Close return ErrClosed. A value that was never set is ErrNotFound, and an index outside of the log raft.ErrLogNotFound. A
// failed write or fsync ends the process through Options.Fatal. Open refuses a store that was damaged or that a newer version wrote.
//
// # Layout
//
// Integers are big-endian, so that keys sort as their fields do:
//
//	│ group 2 │ 'e' │ index 8 │   an entry of the group's log
//	│ group 2 │ 'n' │ name    │   a number of the stable store: terms
//	│ group 2 │ 's' │ name    │   a text of the stable store: the vote
//	│ group 2 │ 'v' │             how often the stable store has changed
//
// The record of an entry; its index is in the key, and the time is when the leader appended it:
//
//	│ format 1 │ type 1 │ term 8 │ seconds 8 │ nanoseconds 4 │ length of extensions: uvarint │ extensions │ data │
//
// The record of a number or text is the format byte and the value. A record of another format is refused.
package logs

// Package unsynced measures the window of loss. This is the number and the age of acknowledged
// enqueues and completions of tasks that a power loss would lose.
//
// A shard reports its acknowledgements to its Window. The log that makes them durable reports its
// fsyncs to the Window (see disk.SyncMarks):
//
//	Acknowledged ──▶ open ──Mark n──▶ marked n ──Synced n──▶ removed: an fsync covers it
//
// The log calls Mark before an fsync, or when it is closed. When the fsync has ended, it calls
// Synced with the same number. An acknowledgement between the two calls is included until a later
// mark is synced. So a Window never reports less than the real loss. It may briefly report more,
// because an fsync may make a commit durable before the commit's tasks are acknowledged.
package unsynced

// Package unsynced measures the window of loss: the acknowledged enqueues and completions of tasks
// that a loss of power would lose.
//
// A shard reports its acknowledgements to its Window. The log behind the acknowledgements reports
// its fsyncs (disk.SyncMarks):
//
//	Acknowledged ──▶ open ──Mark n──▶ marked n ──Synced n──▶ removed: an fsync covers it
//
// Mark is called before an fsync, or when a log is closed, and Synced with the same number once the
// fsync has ended. An acknowledgement between the two counts until the next mark is synced. So a
// Window never reports less than the real loss. It may briefly report more: tasks of commits that
// an fsync covered before they were acknowledged.
package unsynced

// Package unsynced measures the window of loss: what a loss of power would take of the enqueues and completions of tasks that a
// server has acknowledged.
//
// A shard tells its Window what it acknowledges. The files of the log that the acknowledgement relies on tell it what an fsync covers
// (disk.SyncMarks):
//
//	Acknowledged ──▶ open ──Mark n──▶ marked n ──Synced n──▶ gone: an fsync covers it
//
// Mark is called before an fsync, or when a log is closed, and Synced with the same number once the fsync has ended. An acknowledgement
// between the two counts until the next mark is synced. So a Window never says less than a loss of power takes. It may say more for a
// moment: tasks of commits that an fsync covered before they were acknowledged.
package unsynced

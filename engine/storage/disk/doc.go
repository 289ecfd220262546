// Package disk is the files of a Pebble: what the stores and the Raft logs of a node have in common.
//
// # Usage
//
// Guard returns the file system that a Pebble works on; it fails stop and applies the Durability. Open opens the Pebble.
// BreakSeal checks a store before it is opened; Seal seals it after it was closed:
//
//	files, err := disk.Guard(vfs.Default, dir, disk.Sync, 0, disk.NewLog(log, nil))
//	err = disk.BreakSeal(vfs.Default, dir, false)
//	db, err := disk.Open(dir, &pebble.Options{FS: files, …})
//	// …
//	err = db.Close()
//	err = files.Close()
//	err = disk.Seal(vfs.Default, dir)
//
// WatchSpace watches the data folder and its free space. Space.Growth and Space.Changes return
// whether the space allows a command, and Space.Files makes writes wait while the disk is full.
// MakeFolder, WriteWhole and ReadBounded are for the small files of a data folder.
//
// # What a failure does
//
// After a failed write or fsync the content of the disk is not known, and a repeated fsync may report success for pages
// that the system threw away. So the first failure in a store's folder ends the process: it is logged, and the function given
// to NewLog is called. A full disk or a used-up quota is no failure at first: the write waits for room.
//
// Writes and fsyncs of an open file succeed even after the file or its folder was removed, moved or
// unmounted, but the next start does not find the data. So Space looks for the data folder and the
// files of each store four times a second, and each fsync of a log or manifest checks that the file
// still has a link. If something is missing, or the file system is read-only, the process ends with
// status 2, after which a service manager must not start it again: it would serve an empty folder.
// No commit succeeds once the loss was noticed.
//
// A crash cuts off the end of a log or manifest; damage may look the same, and Pebble then drops acknowledged commits
// silently. Two files tell both apart:
//
//	SEAL     sizes and checksums of all files of a store that was closed in order; removed before the store changes
//	SYNCED   how far the newest log and manifest were fsynced; written after each fsync, in two slots in turn (synced.go draws it)
//
// Under Interval and None a commit never waits for an fsync, also not when Pebble ends a log and begins the next: a goroutine fsyncs
// closed logs in their order, and up to eight may wait for that. Until the logs before it are complete on the disk, a log has a pending
// name (pending.go), which the next start resolves. View shows a store with pending logs to a reader that changes nothing.
//
// A store may keep logs that Pebble does not need any more (KeptLogs). Then the manifest is written after the closed logs are on the disk.
// The same holds for a log that is not Pebble's (BeforeManifest).
//
// # Concurrency
//
// Files, Log and Space are safe for concurrent use. Functions whose name ends in Locked need the lock that their comment names.
// Pebble calls Files while it holds its own locks, so no function of a file calls Pebble.
//
// # Errors
//
// *DamagedError names the file whose content is damaged, with the remedy. *GoneError
// names the folder or file that is missing, with the cause and the remedy. *FullError
// refuses a command for lack of space, with the mark and the remedy; it says when to try again.
package disk

// Package disk handles the files of a Pebble store. The stores and the Raft logs of a node share
// it.
//
// # Usage
//
// Guard returns the file system that a Pebble database works on. It fails stop and implements the
// Durability. Open opens the Pebble database. BreakSeal checks a store before it is opened. Seal
// seals it after it was closed:
//
//	files, err := disk.Guard(vfs.Default, dir, disk.Sync, 0, disk.NewLog(log, nil))
//	err = disk.BreakSeal(vfs.Default, dir, false)
//	db, err := disk.Open(dir, &pebble.Options{FS: files, …})
//	// …
//	err = db.Close()
//	err = files.Close()
//	err = disk.Seal(vfs.Default, dir)
//
// WatchSpace watches the data folder and its free space. Space.Growth and Space.Changes report
// whether the free space allows a command, and Space.Files makes writes wait while the disk is
// full. MakeFolder, WriteWhole and ReadBounded handle the small files of a data folder.
//
// # Failures
//
// After a failed write or fsync the content of the disk is unknown, and a repeated fsync may report
// success for pages that the system dropped. So the first failure in a store's folder ends the
// process: it is logged, and the function passed to NewLog is called. A full disk or an exhausted
// quota is not such a failure: the write waits for room first.
//
// Writes and fsyncs of an open file succeed even after the file or its folder was removed, moved or
// unmounted, but the next start does not find the data. So Space checks the data folder and the
// files of each store four times a second, and each fsync of a log or manifest checks that the file
// still has a link. If something is missing, or the file system is read-only, the process ends with
// status 2. A service manager must not restart it after that status, because it would serve an
// empty folder. No commit succeeds after the loss was detected.
//
// A crash cuts off the end of a log or manifest. Damage may look the same, and Pebble then drops
// acknowledged commits silently. Two files distinguish the cases:
//
//	SEAL     sizes and checksums of all files of a store that was closed cleanly; removed before the store changes
//	SYNCED   fsynced length of the newest log and manifest; written after each fsync, to two slots alternately (synced.go)
//
// Under Interval and None a commit does not wait for an fsync, not even when Pebble ends a log and
// begins the next. A goroutine fsyncs closed logs in order, and at most eight wait for that. Until
// the logs before it are complete on the disk, a log has a pending name (pending.go), which the
// next start resolves. View presents a store with pending logs to a reader without changing it.
//
// A store may retain logs that Pebble no longer needs (KeptLogs). The manifest is then written only
// after the closed logs are on the disk. The same holds for a log that is not one of Pebble's
// (BeforeManifest).
//
// # Concurrency
//
// Files, Log and Space are safe for concurrent use. The caller of a function whose name ends in
// Locked must hold its receiver's mutex: publishing for a Space, mu otherwise. Pebble calls Files
// while it holds its own locks, so no function of a file calls Pebble.
//
// # Errors
//
// *DamagedError names the damaged file; where there is a remedy, the error includes it. *GoneError
// names the missing folder or file, with the cause and the remedy. *FullError refuses a command for
// lack of space, with the mark and the remedy, and returns the retry delay.
package disk

// Package disk manages the files of a Pebble store. Both the stores and the Raft logs of a node use
// it.
//
// # Usage
//
// Guard returns the file system for a Pebble database. This file system ends the process at the
// first failure, and implements the Durability. Open opens the Pebble database. BreakSeal checks a
// store before it is opened. Seal seals a store after it was closed:
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
// whether the free space allows a command. The file system that Space.Files returns makes writes
// wait while the disk is full. MakeFolder creates folders, and WriteWhole and ReadBounded write and
// read the small files of a data folder.
//
// # Failures
//
// After a failed write or fsync the content of the disk is unknown, and a repeated fsync may report
// success although the operating system has dropped the pages. So the first failure in a store's
// folder ends the process: the failure is logged, and the function passed to NewLog is called. A
// full disk or an exhausted quota does not immediately end the process: the write waits for room
// first.
//
// Writes and fsyncs of an open file succeed even after the file or its folder was removed, moved or
// unmounted, but the next start would not find the data. So Space checks the data folder and the
// files of each store four times a second. In addition, each fsync of a log or manifest checks that
// the file still has a link in a folder. If something is missing, or the file system is read-only,
// the process ends with status 2. A service manager must not restart the process after this status,
// because it would then serve an empty folder. No commit succeeds after a loss was detected.
//
// A crash may leave a log or manifest with a truncated end. Damage may look the same, and Pebble
// then silently drops acknowledged commits. Two files distinguish the cases:
//
//	SEAL     sizes and checksums of all files of a store that was closed cleanly; removed before the store changes
//	SYNCED   fsynced length of the newest log and manifest; written after each fsync, to two slots alternately (synced.go)
//
// Under Interval and None a commit does not wait for an fsync, not even when Pebble closes a log
// and starts the next log. A goroutine fsyncs closed logs in order. At most eight logs wait for
// this; then commits wait too. Until the logs before it are complete on the disk, a log has a
// pending name (pending.go). The next start renames or removes pending logs. View lets a reader
// open a store with pending logs without changing it.
//
// A store may retain logs that Pebble no longer needs (KeptLogs). The manifest is then written only
// after the closed logs are on the disk. BeforeManifest ensures the same for a log that Pebble does
// not manage.
//
// # Concurrency
//
// Files, Log and Space are safe for concurrent use. The caller of a method whose name ends in
// Locked must hold a mutex of the receiver: publishing in a Space, mu in other types. Pebble calls
// the methods of Files and of its open files while it holds locks, so these methods must not call
// Pebble.
//
// # Errors
//
// *DamagedError names the damaged file and, if there is one, the remedy. *GoneError names the
// missing folder or file, the cause and the remedy. *FullError is the error of a command that is
// refused because the free space is too low; it names the mark and the remedy, and its method
// RetryAfter returns the retry delay.
package disk

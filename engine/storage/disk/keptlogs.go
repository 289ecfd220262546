package disk

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// KeptLogs retains logs of a store that Pebble no longer needs but the store does. The commits of
// the store have ascending numbers. A log that Pebble has closed is retained until two conditions
// hold: everything up to the number of its last commit is stored elsewhere, and the log that
// records this fact is complete on the disk. So in every durability mode a power loss leaves either
// the log or its replacement.
//
// KeptLogs is safe for concurrent use, except that only one goroutine at a time may call Committing
// and Stored.
type KeptLogs struct {
	vfs.FS
	dir   string
	whole func(path string) bool // reports whether a closed log is on the disk up to its end
	reuse bool                   // logs may be overwritten

	number atomic.Uint64 // number of the last commit that began
	stored atomic.Uint64 // the argument of the last call of Stored
	cut    atomic.Uint64 // upper bound of the commit numbers in closed logs
	kept   atomic.Int64  // number of closed logs that Pebble no longer needs
	begun  atomic.Uint64 // number of logs begun

	mu      sync.Mutex // held while files are removed, reused and created
	logs    []keptLog  // oldest first; Pebble writes the last one
	durable uint64     // everything up to this number is stored on the disk
	spare   string     // a log that is no longer needed and may be overwritten; or ""
}

type keptLog struct {
	path     string
	last     uint64 // of a closed log: the number of its last commit
	stated   uint64 // of a closed log: everything up to it is stored once the log is durable
	closed   bool
	unneeded bool // Pebble no longer needs it
}

func keepLogs(fs vfs.FS, dir string, whole func(path string) bool, reuse bool) *KeptLogs {
	return &KeptLogs{FS: fs, dir: dir, whole: whole, reuse: reuse}
}

// Committing announces a commit that is about to begin.
func (k *KeptLogs) Committing(number uint64) { k.number.Store(number) }

// Stored records that everything up to number is stored elsewhere. The commit that states so must
// have returned.
func (k *KeptLogs) Stored(number uint64) { k.stored.Store(number) }

// Cut returns the commit number that Stored must reach before the closed logs can be removed.
func (k *KeptLogs) Cut() uint64 { return k.cut.Load() }

// Begun returns how many logs Pebble has begun.
func (k *KeptLogs) Begun() uint64 { return k.begun.Load() }

// Kept returns the number of closed logs that Pebble no longer needs.
func (k *KeptLogs) Kept() int { return int(k.kept.Load()) }

// Unwrap returns the wrapped file system.
func (k *KeptLogs) Unwrap() vfs.FS { return k.FS }

func (k *KeptLogs) isLog(path string) bool {
	_, _, ok := wal.ParseLogFilename(k.PathBase(path))
	return ok && k.PathDir(path) == k.dir
}

// Create implements vfs.FS.
func (k *KeptLogs) Create(path string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if !k.isLog(path) {
		return k.FS.Create(path, c)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.beginLocked(path)
	return k.FS.Create(path, c)
}

// ReuseForWrite implements vfs.FS. If the old log is retained, it reuses a spare log instead, or
// creates a new file.
func (k *KeptLogs) ReuseForWrite(old, path string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if !k.isLog(path) {
		return k.FS.ReuseForWrite(old, path, c)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.beginLocked(path)
	if !k.keepsLocked(old) {
		return k.FS.ReuseForWrite(old, path, c)
	}
	if spare := k.spare; spare != "" {
		k.spare = ""
		return k.FS.ReuseForWrite(spare, path, c)
	}
	return k.FS.Create(path, c)
}

// Remove implements vfs.FS. It defers the removal of a retained log.
func (k *KeptLogs) Remove(path string) error {
	if k.isLog(path) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.keepsLocked(path) {
			return nil
		}
	}
	return k.FS.Remove(path)
}

// keepsLocked reports whether a log is retained, and marks it as no longer needed by Pebble.
func (k *KeptLogs) keepsLocked(path string) bool {
	for i := range k.logs {
		if k.logs[i].path == path {
			if !k.logs[i].unneeded {
				k.kept.Add(1)
			}
			k.logs[i].unneeded = true
			return true
		}
	}
	return false
}

// beginLocked records that Pebble has closed its log and begins another one. It removes the logs
// that are no longer needed.
func (k *KeptLogs) beginLocked(path string) {
	if n := len(k.logs); n > 0 {
		last := &k.logs[n-1]
		// Read Stored first: a later commit that states a higher number may be in the next log.
		last.closed, last.stated, last.last = true, k.stored.Load(), k.number.Load()
		k.cut.Store(last.last)
	}
	k.releaseLocked()
	k.logs = append(k.logs, keptLog{path: path})
	k.begun.Add(1)
}

// releaseLocked drops the closed logs whose commits are stored on the disk, oldest first. If the
// removal of a log fails, the next call retries it.
func (k *KeptLogs) releaseLocked() {
	for _, l := range k.logs {
		if !l.closed || !k.whole(l.path) {
			break
		}
		k.durable = max(k.durable, l.stated)
	}
	for len(k.logs) > 0 && k.logs[0].closed && k.logs[0].last <= k.durable {
		l := k.logs[0]
		if l.unneeded { // otherwise Pebble removes it
			if k.reuse && k.spare == "" {
				k.spare = l.path
			} else if err := k.FS.Remove(l.path); err != nil {
				return
			}
			k.kept.Add(-1)
		}
		k.logs = k.logs[1:]
	}
}

// Finish removes the retained logs. Call it after Pebble was closed, when everything is stored on
// the disk.
func (k *KeptLogs) Finish() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var err error
	for _, l := range k.logs {
		if l.unneeded {
			err = errors.Join(err, k.FS.Remove(l.path))
		}
	}
	k.logs = nil
	k.kept.Store(0)
	if k.spare != "" {
		err = errors.Join(err, k.FS.Remove(k.spare))
		k.spare = ""
	}
	return err
}

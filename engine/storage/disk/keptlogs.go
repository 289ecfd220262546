package disk

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// KeptLogs keeps the logs of a store that Pebble does not need any more and the store does. The commits of the store have ascending
// numbers. A log that Pebble has closed is kept until everything up to the number of its last commit is stored elsewhere, and the log
// in which that is stated is whole on the disk: in every mode of durability a loss of power leaves either the log, or what replaces it.
//
// KeptLogs is safe for concurrent use; Committing and Stored are called by one goroutine at a time.
type KeptLogs struct {
	vfs.FS
	dir   string
	whole func(path string) bool // whether a closed log is on the disk, up to its end
	reuse bool                   // logs may be overwritten

	number atomic.Uint64 // of the last commit that began
	stored atomic.Uint64 // what Stored was called with last
	cut    atomic.Uint64 // the number of the last commit that a closed log may have
	kept   atomic.Int64  // closed logs that Pebble does not need
	begun  atomic.Uint64 // logs that were begun

	mu      sync.Mutex // held while files are removed, reused and created
	logs    []keptLog  // the oldest first; the last is being written
	durable uint64     // everything up to this number is stored on the disk
	spare   string     // a log that is no longer needed and may be overwritten; or ""
}

type keptLog struct {
	path     string
	last     uint64 // the number of its last commit, if the log is closed
	stated   uint64 // everything up to this number is stored when the log is on the disk, if the log is closed
	closed   bool
	unneeded bool // by Pebble
}

// keepLogs returns a file system that keeps logs of the store in a folder.
func keepLogs(fs vfs.FS, dir string, whole func(path string) bool, reuse bool) *KeptLogs {
	return &KeptLogs{FS: fs, dir: dir, whole: whole, reuse: reuse}
}

// Committing says that a commit is about to begin.
func (k *KeptLogs) Committing(number uint64) { k.number.Store(number) }

// Stored says that everything up to a number is stored, as a commit says that has returned.
func (k *KeptLogs) Stored(number uint64) { k.stored.Store(number) }

// Cut returns the number up to which everything is to be stored, so that logs can be removed.
func (k *KeptLogs) Cut() uint64 { return k.cut.Load() }

// Begun returns how many logs Pebble has begun.
func (k *KeptLogs) Begun() uint64 { return k.begun.Load() }

// Kept returns the number of closed logs that Pebble does not need.
func (k *KeptLogs) Kept() int { return int(k.kept.Load()) }

// Unwrap returns the file system below.
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

// ReuseForWrite implements vfs.FS. If the old log is kept, another one is reused, or none.
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

// Remove implements vfs.FS. A log that is kept is removed later.
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

// keepsLocked reports whether a log is kept, and notes that Pebble does not need it.
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

// beginLocked is called when Pebble has closed its log and begins another one. It removes the logs that are no longer needed.
func (k *KeptLogs) beginLocked(path string) {
	if n := len(k.logs); n > 0 {
		last := &k.logs[n-1]
		// Stored is read first: a commit that states it later may be in the next log.
		last.closed, last.stated, last.last = true, k.stored.Load(), k.number.Load()
		k.cut.Store(last.last)
	}
	k.releaseLocked()
	k.logs = append(k.logs, keptLog{path: path})
	k.begun.Add(1)
}

// releaseLocked gives up the closed logs whose commits are stored on the disk, in their order. A log that cannot be removed is removed
// later.
func (k *KeptLogs) releaseLocked() {
	for _, l := range k.logs {
		if !l.closed || !k.whole(l.path) {
			break
		}
		k.durable = max(k.durable, l.stated)
	}
	for len(k.logs) > 0 && k.logs[0].closed && k.logs[0].last <= k.durable {
		l := k.logs[0]
		if l.unneeded { // or Pebble removes it
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

// Finish removes the kept logs. It is called after Pebble was closed, when everything is stored on the disk.
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

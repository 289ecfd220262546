package disk

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// KeptLogs retains logs that Pebble no longer needs, but the store still needs. The commits of the
// store have ascending numbers. A log that Pebble has closed is retained until two conditions are
// true. First, the young records of all commits up to the last commit in the log have ended or are
// stored elsewhere. Second, the log that records this fact is complete on the disk. So in every
// durability mode, after a power loss either the log or what replaces it is on the disk.
//
// KeptLogs is safe for concurrent use, except that only one goroutine at a time may call Committing
// and Stored.
type KeptLogs struct {
	vfs.FS
	dir   string
	whole func(path string) bool // reports whether a closed log is on the disk up to its end
	reuse bool                   // logs may be overwritten

	number atomic.Uint64 // the argument of the last call of Committing
	stored atomic.Uint64 // the argument of the last call of Stored
	cut    atomic.Uint64 // no closed log contains a commit with a higher number
	kept   atomic.Int64  // number of closed logs that Pebble no longer needs
	begun  atomic.Uint64 // number of logs that Pebble has started

	mu      sync.Mutex // held while files are removed, reused and created
	logs    []keptLog  // oldest first; Pebble writes to the last log
	durable uint64     // the highest number of a Stored call that is recorded in a log on the disk
	// spare is the path of a log that may be overwritten, because it is no longer needed; or "".
	spare string
}

type keptLog struct {
	path     string
	last     uint64 // valid if closed: the number of the last commit that the log may contain
	stated   uint64 // valid if closed: the log records that Stored was called with this number
	closed   bool
	unneeded bool // Pebble no longer needs it
}

func keepLogs(fs vfs.FS, dir string, whole func(path string) bool, reuse bool) *KeptLogs {
	return &KeptLogs{FS: fs, dir: dir, whole: whole, reuse: reuse}
}

// Committing announces a commit that is about to begin.
func (k *KeptLogs) Committing(number uint64) { k.number.Store(number) }

// Stored records that the store no longer needs the commits up to number in the logs. The commit
// that states this must already be in Pebble's log.
func (k *KeptLogs) Stored(number uint64) { k.stored.Store(number) }

// Cut returns the commit number that Stored must reach before the closed logs can be removed.
func (k *KeptLogs) Cut() uint64 { return k.cut.Load() }

// Begun returns the number of logs that Pebble has started.
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

// Remove implements vfs.FS. If the log is retained, Remove only marks it, and KeptLogs removes it
// later.
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

// keepsLocked reports whether a log is retained. If so, it marks the log as no longer needed by
// Pebble.
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

// beginLocked records that Pebble has closed its log and starts another log. It removes the logs
// that are no longer needed.
func (k *KeptLogs) beginLocked(path string) {
	if n := len(k.logs); n > 0 {
		last := &k.logs[n-1]
		// Read stored first: a commit that states a higher number may be in the next log.
		last.closed, last.stated, last.last = true, k.stored.Load(), k.number.Load()
		k.cut.Store(last.last)
	}
	k.releaseLocked()
	k.logs = append(k.logs, keptLog{path: path})
	k.begun.Add(1)
}

// releaseLocked releases the closed logs that are no longer needed, oldest first. If it cannot
// remove a log, the next call tries again.
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

// Finish removes the retained logs. It must be called after Pebble was closed, when everything in
// the retained logs that is still needed is stored elsewhere on the disk.
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

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
// in which that is stated is on the disk as a whole: Pebble closes a log, with an fsync in every mode, before it begins the next one.
//
// A nil KeptLogs keeps nothing. KeptLogs is safe for concurrent use; Committing and Stored are called by one goroutine at a time.
type KeptLogs struct {
	vfs.FS
	dir string

	number atomic.Uint64 // of the last commit that began
	stored atomic.Uint64 // what Stored was called with last
	cut    atomic.Uint64 // the number of the last commit that a closed log may have

	mu    sync.Mutex // held while files are removed, reused and created
	logs  []keptLog  // the oldest first; the last is being written
	spare string     // a log that nobody needs, for reuse; or ""
}

type keptLog struct {
	path     string
	last     uint64 // the number of its last commit, if the log is closed
	closed   bool
	unneeded bool // by Pebble
}

// keepLogs returns a file system that keeps logs of the store in a folder.
func keepLogs(fs vfs.FS, dir string) *KeptLogs { return &KeptLogs{FS: fs, dir: dir} }

// Committing says that a commit is about to begin.
func (k *KeptLogs) Committing(number uint64) { k.number.Store(number) }

// Stored says that everything up to a number is stored, as a commit says that has returned.
func (k *KeptLogs) Stored(number uint64) { k.stored.Store(number) }

// Cut returns the number up to which everything is to be stored, so that logs can be removed.
func (k *KeptLogs) Cut() uint64 { return k.cut.Load() }

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
	if err := k.beginLocked(path); err != nil {
		return nil, err
	}
	return k.FS.Create(path, c)
}

// ReuseForWrite implements vfs.FS. If the old log is kept, another one is reused, or none.
func (k *KeptLogs) ReuseForWrite(old, path string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if !k.isLog(path) {
		return k.FS.ReuseForWrite(old, path, c)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.beginLocked(path); err != nil {
		return nil, err
	}
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
			k.logs[i].unneeded = true
			return true
		}
	}
	return false
}

// beginLocked notes that Pebble has closed its log and begins another one, and gives up the logs that nobody needs.
func (k *KeptLogs) beginLocked(path string) error {
	if n := len(k.logs); n > 0 {
		last := &k.logs[n-1]
		last.closed, last.last = true, k.number.Load()
		k.cut.Store(last.last)
	}
	if err := k.releaseLocked(); err != nil {
		return err
	}
	k.logs = append(k.logs, keptLog{path: path})
	return nil
}

// releaseLocked removes the closed logs whose commits are stored, in their order.
func (k *KeptLogs) releaseLocked() error {
	for len(k.logs) > 0 && k.logs[0].closed && k.logs[0].last <= k.stored.Load() {
		l := k.logs[0]
		k.logs = k.logs[1:]
		switch {
		case !l.unneeded: // Pebble removes it
		case k.spare == "":
			k.spare = l.path
		default:
			if err := k.FS.Remove(l.path); err != nil {
				return err
			}
		}
	}
	return nil
}

// Finish removes what nobody needs after Pebble was closed, when everything is stored.
func (k *KeptLogs) Finish() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var err error
	for _, l := range k.logs {
		if l.unneeded {
			err = errors.Join(err, k.FS.Remove(l.path))
		}
	}
	k.logs = nil
	if k.spare != "" {
		err = errors.Join(err, k.FS.Remove(k.spare))
		k.spare = ""
	}
	return err
}

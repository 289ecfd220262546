package disk

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// walFS makes durability a property of the write-ahead log's files alone. Each commit asks Pebble
// to sync the log, so that Pebble writes it to the operating system before the commit is done; whether
// that sync reaches the disk is decided here. Tables and the manifest are always synced for real.
type walFS struct {
	vfs.FS
	deferred *deferredSync
}

// walSuffix is how Pebble names its log files.
const walSuffix = ".log"

func (fs *walFS) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil || !strings.HasSuffix(name, walSuffix) {
		return f, err
	}
	w := &walFile{File: f, deferred: fs.deferred}
	fs.deferred.add(w)
	return w, nil
}

func (fs *walFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, c)
	return fs.wrap(name, f, err)
}

func (fs *walFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.ReuseForWrite(oldname, newname, c)
	return fs.wrap(newname, f, err)
}

func (fs *walFS) Unwrap() vfs.FS { return fs.FS }

type walFile struct {
	vfs.File
	deferred *deferredSync
	dirty    atomic.Bool // has data that no fsync covers yet

	mu     sync.Mutex // held during a deferred fsync and while closing: never while a commit waits
	closed bool
	err    error // of the first fsync that failed: a later one may report success for what was thrown away
}

func (f *walFile) Sync() error     { return f.later() }
func (f *walFile) SyncData() error { return f.later() }

// SyncTo only has the system begin to write: it waits for nothing. Without it, all of a log would be left to
// the fsync that ends it, and commits would wait for that.
func (f *walFile) SyncTo(length int64) (fullSync bool, err error) {
	if err := f.later(); err != nil {
		return false, err
	}
	return f.File.SyncTo(length)
}

func (f *walFile) later() error {
	f.dirty.Store(true)
	return f.deferred.failed()
}

// syncNow returns when what was written before the call is on the disk.
func (f *walFile) syncNow() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	// dirty is cleared first: what is written from here on is left to the next fsync.
	if f.closed || f.err != nil || !f.dirty.Swap(false) {
		return f.err
	}
	f.err = f.File.SyncData()
	return f.err
}

// Close syncs, whatever the mode: Pebble takes a log that lacks its end for damaged unless it is the
// newest one, so a log must be whole on disk before the next one is begun.
func (f *walFile) Close() error {
	syncErr := f.syncNow()
	f.deferred.drop(f)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return errors.Join(syncErr, f.File.Close())
}

package disk

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// walFS defers the fsyncs of the write-ahead log under Interval and None. Every commit has Pebble sync the log, so that Pebble
// writes the log to the operating system before the commit is done; walFS decides when the disk has it. Tables and the manifest
// are always fsynced at once.
type walFS struct {
	vfs.FS
	deferred *deferredSync
}

// walSuffix ends the names of Pebble's logs.
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
	dirty    atomic.Bool // the file has data that no fsync covers yet

	mu     sync.Mutex // held during a deferred fsync and while closing; no commit waits for it
	closed bool
	err    error // of the first fsync that failed: a later fsync may report success for pages that were thrown away
}

func (f *walFile) Sync() error     { return f.later() }
func (f *walFile) SyncData() error { return f.later() }

// SyncTo has the operating system begin to write, and does not wait. Without it the last fsync of a log would write the whole
// log, and commits would wait for that fsync.
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

// syncNow returns when everything that was written before the call is on the disk.
func (f *walFile) syncNow() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	// dirty is cleared first: the next fsync covers later writes.
	if f.closed || f.err != nil || !f.dirty.Swap(false) {
		return f.err
	}
	f.err = f.File.SyncData()
	return f.err
}

// Close fsyncs in every mode. To Pebble, every log but the newest is damaged if its end is missing, so a log must be complete on
// disk before the next one begins.
func (f *walFile) Close() error {
	syncErr := f.syncNow()
	f.deferred.drop(f)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return errors.Join(syncErr, f.File.Close())
}

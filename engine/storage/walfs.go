package storage

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Durability is when a commit counts as done.
type Durability string

// The durability modes.
const (
	// Sync: after fsync. It survives power loss.
	Sync Durability = "sync"
	// Interval: after the write reached the operating system, which fsyncs it every SyncInterval. A
	// kill of the process loses nothing; power loss loses at most about one interval.
	Interval Durability = "interval"
	// None: after the write reached the operating system. A kill of the process loses nothing.
	None Durability = "none"
)

// ParseDurability reads the name of a mode.
func ParseDurability(name string) (Durability, error) {
	switch d := Durability(name); d {
	case Sync, Interval, None:
		return d, nil
	}
	return "", fmt.Errorf(`durability %q is not one of "sync", "interval", "none"`, name)
}

// walFS makes durability a property of the write-ahead log's files alone. Each commit asks Pebble
// to sync the log, so that Pebble writes it to the operating system before the commit is done; whether
// that sync reaches the disk is decided here. Tables and the manifest are always synced for real.
type walFS struct {
	vfs.FS
	deferred *deferredSync // nil: syncs are dropped
}

// walSuffix is how Pebble names its log files.
const walSuffix = ".log"

func (fs *walFS) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil || !strings.HasSuffix(name, walSuffix) {
		return f, err
	}
	w := &walFile{File: f, deferred: fs.deferred}
	if fs.deferred != nil {
		fs.deferred.add(w)
	}
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
	if f.deferred == nil {
		return nil
	}
	f.dirty.Store(true)
	return f.deferred.failed()
}

func (f *walFile) syncNow() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	// dirty is cleared first: what is written from here on is left to the next fsync.
	if f.closed || !f.dirty.Swap(false) {
		return nil
	}
	return f.File.SyncData()
}

// Close syncs, whatever the mode: Pebble takes a log that lacks its end for damaged unless it is the
// newest one, so a log must be whole on disk before the next one is begun.
func (f *walFile) Close() error {
	var syncErr error
	if f.deferred == nil {
		syncErr = f.File.SyncData()
	} else {
		syncErr = f.syncNow()
		f.deferred.drop(f)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return errors.Join(syncErr, f.File.Close())
}

// deferredSync fsyncs the log's files at an interval. After a failed fsync every later commit
// fails: what the disk holds is not known any more.
type deferredSync struct {
	mu    sync.Mutex
	files map[*walFile]struct{}
	err   error

	stop chan struct{}
	done chan struct{}
}

func newDeferredSync(interval time.Duration) *deferredSync {
	d := &deferredSync{files: map[*walFile]struct{}{}, stop: make(chan struct{}), done: make(chan struct{})}
	go d.run(interval)
	return d
}

func (d *deferredSync) run(interval time.Duration) {
	defer close(d.done)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-tick.C:
			d.syncAll()
		}
	}
}

func (d *deferredSync) syncAll() {
	d.mu.Lock()
	files := make([]*walFile, 0, len(d.files))
	for f := range d.files {
		files = append(files, f)
	}
	d.mu.Unlock()
	for _, f := range files {
		if err := f.syncNow(); err != nil {
			d.mu.Lock()
			d.err = fmt.Errorf("fsync of the log: %w", err)
			d.mu.Unlock()
		}
	}
}

func (d *deferredSync) add(f *walFile) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files[f] = struct{}{}
}

func (d *deferredSync) drop(f *walFile) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.files, f)
}

func (d *deferredSync) failed() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

func (d *deferredSync) close() error {
	close(d.stop)
	<-d.done
	return d.failed()
}

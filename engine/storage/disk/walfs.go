package disk

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// walFS defers the fsyncs of the write-ahead log under Interval and None. It also defers those of a
// log that Pebble closes and of the folder entry of the next log, because Pebble does both while it
// blocks all commits. Every commit makes Pebble sync the log, so that Pebble writes the log to the
// operating system before the commit returns; deferredSync decides when the data reaches the disk.
// Tables and the manifest are always fsynced immediately.
type walFS struct {
	vfs.FS
	dir      string
	deferred *deferredSync

	// logsFirst makes a closed log durable before the manifest records that the log's memtable is
	// in tables, because the log has records that are not in the memtable. Set it before the Pebble
	// database is opened.
	logsFirst bool

	// Pebble opens the folder several times; the last one to do so before the first log is created
	// is the log's manager. Only the manager's fsyncs of the folder are deferred.
	newest  atomic.Pointer[walFolder] // the last folder that was opened, until a log is created
	manager atomic.Pointer[walFolder]
	opened  atomic.Bool // the manager has fsynced the folder once
}

// walSuffix ends the names of Pebble's logs.
const walSuffix = ".log"

// isLog reports whether a path names a log of the store. The logs of a checkpoint are in another
// folder.
func (fs *walFS) isLog(path string) bool {
	_, _, ok := wal.ParseLogFilename(fs.PathBase(path))
	return ok && fs.PathDir(path) == fs.dir
}

func (fs *walFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if !fs.isLog(name) {
		f, err := fs.FS.Create(name, c)
		if err == nil && fs.logsFirst && fs.PathDir(name) == fs.dir && strings.HasPrefix(fs.PathBase(name), manifestPrefix) {
			return lateManifest{f, func() error { return fs.deferred.settle(false) }}, nil
		}
		return f, err
	}
	return fs.begin(name, "", c)
}

// ReuseForWrite creates a new log and queues the old one for removal. Overwriting the old log would
// be safe only once its new name is on the disk, and a commit would have to wait for that.
func (fs *walFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if !fs.isLog(newname) {
		return fs.FS.ReuseForWrite(oldname, newname, c)
	}
	return fs.begin(newname, oldname, c)
}

func (fs *walFS) begin(name, replaces string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if folder := fs.newest.Swap(nil); folder != nil {
		fs.manager.CompareAndSwap(nil, folder)
	}
	return fs.deferred.begin(name, replaces, func(path string) (vfs.File, error) { return fs.FS.Create(path, c) })
}

func (fs *walFS) Remove(name string) error {
	if fs.isLog(name) && fs.deferred.remove(name) {
		return nil
	}
	return fs.FS.Remove(name)
}

func (fs *walFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	path := name
	if fs.isLog(name) {
		path = fs.deferred.path(name)
	}
	f, err := fs.FS.Open(path, o...)
	if path != name && errors.Is(err, os.ErrNotExist) { // the log got its final name meanwhile
		return fs.FS.Open(name, o...)
	}
	return f, err
}

func (fs *walFS) OpenDir(name string) (vfs.File, error) {
	f, err := fs.FS.OpenDir(name)
	if err != nil || fs.PathJoin(name) != fs.dir {
		return f, err
	}
	folder := &walFolder{File: f, fs: fs}
	if fs.manager.Load() == nil {
		fs.newest.Store(folder)
	}
	return folder, nil
}

// Lock locks the store. Closing the lock first makes the closed logs complete on the disk.
func (fs *walFS) Lock(name string) (io.Closer, error) {
	lock, err := fs.FS.Lock(name)
	if err != nil {
		return nil, err
	}
	return settledLock{lock, fs.deferred}, nil
}

func (fs *walFS) Unwrap() vfs.FS { return fs.FS }

type settledLock struct {
	io.Closer
	deferred *deferredSync
}

func (l settledLock) Close() error { return errors.Join(l.deferred.settle(false), l.Closer.Close()) }

type walFolder struct {
	vfs.File
	fs *walFS
}

// Sync defers the fsync if the log's manager requests it: a new log's entry is fsynced before
// anything depends on it. The entry of the first log is fsynced immediately, because no commit
// waits yet.
func (f *walFolder) Sync() error {
	switch {
	case f.fs.manager.Load() != f:
		return f.File.Sync()
	case f.fs.opened.Swap(true):
		return f.fs.deferred.failed()
	default:
		return f.fs.deferred.settle(false)
	}
}

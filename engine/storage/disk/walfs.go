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

// walFS defers the fsyncs of the write-ahead log under Interval and None. When Pebble closes a log,
// walFS also defers the fsync of that log and of the folder entry of the next log, because Pebble
// requests both while it blocks all commits. Every commit makes Pebble sync the log, so that Pebble
// writes the log to the operating system before the commit returns; deferredSync decides when the
// data is fsynced. Tables and the manifest are always fsynced immediately.
type walFS struct {
	vfs.FS
	dir      string
	deferred *deferredSync

	// logsFirst makes walFS fsync a closed log before the manifest records that the log's memtable
	// is in tables. This is necessary if the log contains records that are not in the memtable. It
	// must be set before the Pebble database is opened.
	logsFirst bool

	// Pebble opens the folder several times. The last time before it creates the first log,
	// Pebble's log manager opens the folder. Only fsyncs through the folder of the log manager are
	// deferred.
	newest  atomic.Pointer[walFolder] // the last opened folder, until a log is created
	manager atomic.Pointer[walFolder]
	opened  atomic.Bool // the log manager has fsynced the folder once
}

// walSuffix is the suffix of the names of Pebble's logs.
const walSuffix = ".log"

// isLog reports whether a path names a log of the store. It returns false for the logs of a
// checkpoint, which are in another folder.
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

// ReuseForWrite creates a new log, and later removes the old log instead of overwriting it.
// Overwriting would be safe only after the new name of the old log is on the disk, and a commit
// would have to wait for this.
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
	if path != name && errors.Is(err, os.ErrNotExist) { // the log was renamed since path was read
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

// Lock locks the store. Closing the lock first completes the closed logs on the disk.
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

// Sync defers the fsync if the log manager requests it, since deferredSync fsyncs the folder entry
// of a new log before anything depends on it. The entry of the first log is fsynced immediately,
// because no commit waits yet.
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

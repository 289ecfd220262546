package disk

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// LongSync is the shortest duration of an fsync that OnLongSync reports.
const LongSync = time.Millisecond

// failStopFS ends the process at the first failed write or fsync in the store's folder; the package
// comment explains why. Pebble itself would retry some failed operations. After others it would
// panic while it holds locks.
type failStopFS struct {
	vfs.FS
	dir    string
	failed func(problem string)
	gone   func(problem string) // like failed, but called if the folder or a file in it is missing
	synced *syncedNote
	here   *presence
	// loss is the loss of this store alone, until Space.Join replaces it with the loss of the
	// Space.
	loss atomic.Pointer[loss]

	logSyncs atomic.Uint64            // number of fsyncs of write-ahead logs
	syncs    atomic.Uint64            // number of fsyncs of all files
	syncNs   atomic.Int64             // total duration of these fsyncs
	longSync func(took time.Duration) // called after each fsync of at least LongSync; may be nil
}

func newFailStopFS(fs vfs.FS, dir string, log Log) *failStopFS {
	f := &failStopFS{FS: fs, dir: dir, failed: log.Stop, gone: log.Gone, synced: &syncedNote{fs: fs, path: fs.PathJoin(dir, syncedName)}}
	f.here = &presence{fs: f, logs: map[*failStopFile]struct{}{}}
	f.loss.Store(&loss{})
	return f
}

// contains reports whether a path is the store's folder or a file in it. The files of a checkpoint
// are written through the same failStopFS and have the same names, but are in another folder.
func (fs *failStopFS) contains(path string) bool { return path == fs.dir || fs.PathDir(path) == fs.dir }

// check returns err. If err is the error of an operation on the store's folder or a file in it,
// check ends the process. An error in another folder, such as that of a checkpoint, does not end
// the process.
func (fs *failStopFS) check(what, name string, err error) error {
	if err != nil && fs.contains(name) {
		if gone := asGone(what, name, err); gone != nil {
			fs.lose(gone)
			return err
		}
		problem := fmt.Sprintf("%s %s: %v", what, name, err)
		if vfs.IsNoSpaceError(err) {
			problem += ": free space on its file system or enlarge it, and start the server again: nothing acknowledged is lost"
		}
		fs.failed(problem)
	}
	return err
}

func (fs *failStopFS) wrap(what, name string, f vfs.File, err error) (vfs.File, error) {
	if fs.check(what, name, err) != nil {
		return f, err
	}
	file := &failStopFile{File: f, fs: fs, name: name}
	if fs.contains(name) {
		file.kind, file.number, file.noted = syncedKindOf(fs.PathBase(name))
	}
	fs.here.add(name)
	if file.noted && f.Fd() != vfs.InvalidFd {
		file.linked = !unlinked(f.Fd())
	}
	if file.noted && file.kind == syncedLog {
		fs.here.opened(file)
	}
	return file, nil
}

// markerPrefix is the prefix of the names of Pebble's markers. A marker is an empty file whose name
// contains the name of the newest manifest.
const markerPrefix = "marker."

// lose ends the process because the store's folder or a file in it is missing. From now on no
// commit of any store in the data folder succeeds.
func (fs *failStopFS) lose(reason *GoneError) {
	fs.loss.Load().record(reason)
	fs.gone(reason.Error())
}

// checkPresent ends the process if this store or another store in the data folder was lost. Each
// commit calls it before it reports success.
func (fs *failStopFS) checkPresent() error {
	err := fs.loss.Load().err()
	if err != nil {
		fs.gone(err.Error())
	}
	return err
}

// Create creates a file. Before it creates a marker, it fsyncs the folder, so that the file that
// the marker names is on the disk before the marker. Pebble fsyncs the folder only after it has
// created both. If the file system then wrote the marker first, a crash could leave a store that
// cannot be opened.
func (fs *failStopFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(fs.PathBase(name), markerPrefix) {
		if err := fs.check("fsync", name, SyncDir(fs.FS, fs.PathDir(name))); err != nil {
			return nil, err
		}
	}
	fs.here.drop(name) // the call may replace a file
	f, err := fs.FS.Create(name, c)
	return fs.wrap("create", name, f, err)
}

func (fs *failStopFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	fs.here.drop(oldname)
	fs.here.drop(newname)
	f, err := fs.FS.ReuseForWrite(oldname, newname, c)
	return fs.wrap("reuse a file as", newname, f, err)
}

func (fs *failStopFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := fs.FS.OpenReadWrite(name, c, o...)
	return fs.wrap("open", name, f, err)
}

func (fs *failStopFS) Rename(oldname, newname string) error {
	fs.here.drop(oldname)
	fs.here.drop(newname)
	err := fs.check("rename a file to", newname, fs.FS.Rename(oldname, newname))
	if err == nil {
		fs.here.add(newname)
	}
	return err
}

func (fs *failStopFS) Link(oldname, newname string) error {
	err := fs.FS.Link(oldname, newname)
	if err == nil {
		fs.here.add(newname)
	}
	return err
}

func (fs *failStopFS) Remove(name string) error {
	fs.here.drop(name)
	return fs.FS.Remove(name)
}

func (fs *failStopFS) RemoveAll(name string) error {
	fs.here.drop(name)
	return fs.FS.RemoveAll(name)
}

func (fs *failStopFS) OpenDir(name string) (vfs.File, error) {
	f, err := fs.FS.OpenDir(name)
	if err != nil { // not checked: the folder may not exist yet, and Pebble then creates it
		return nil, err
	}
	return &failStopFile{File: f, fs: fs, name: name}, nil
}

func (fs *failStopFS) Unwrap() vfs.FS { return fs.FS }

type failStopFile struct {
	vfs.File
	fs   *failStopFS
	name string

	kind    syncedKind
	number  uint64
	noted   bool         // the file is a log or a manifest of the store
	linked  bool         // true if the file system reports the link count of this file
	written atomic.Int64 // number of bytes appended so far

	identity fileIdentity // valid if the file is in presence.logs
}

func (f *failStopFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	f.written.Add(int64(n))
	return n, f.fs.check("write", f.name, err)
}

func (f *failStopFile) WriteAt(b []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(b, at)
	return n, f.fs.check("write", f.name, err)
}

// Stat ends the process if it fails for a log. Pebble calls it before it writes to the log, and
// would panic at the error.
func (f *failStopFile) Stat() (vfs.FileInfo, error) {
	info, err := f.File.Stat()
	if f.noted && f.kind == syncedLog {
		err = f.fs.check("stat", f.name, err)
	}
	return info, err
}

func (f *failStopFile) Sync() error { return f.sync(f.File.Sync) }

func (f *failStopFile) SyncData() error { return f.sync(f.File.SyncData) }

func (f *failStopFile) sync(how func() error) error {
	written := f.written.Load()
	began := time.Now()
	err := how()
	f.fs.synchronized(time.Since(began))
	if f.noted && f.kind == syncedLog {
		f.fs.logSyncs.Add(1)
	}
	if err != nil {
		return f.fs.check("fsync", f.name, err)
	}
	if err := f.checkPresent(); err != nil || !f.noted {
		return err
	}
	return f.fs.check("write", f.fs.synced.path, f.fs.synced.note(f.kind, f.number, written))
}

// checkPresent ends the process if the file was removed, or if the store was lost. It is called
// after a successful fsync, which does not reveal this.
func (f *failStopFile) checkPresent() error {
	if f.linked && unlinked(f.Fd()) {
		gone := &GoneError{f.name, "was removed while the server ran, or its folder was", folderRemedy}
		f.fs.lose(gone)
		return gone
	}
	return f.fs.checkPresent()
}

func (f *failStopFile) Close() error {
	f.fs.here.closed(f)
	return f.File.Close()
}

func (f *failStopFile) SyncTo(length int64) (fullSync bool, err error) {
	began := time.Now()
	fullSync, err = f.File.SyncTo(length)
	took := time.Since(began)
	if fullSync {
		f.fs.synchronized(took)
	} else { // no fsync, but the call may wait for write-back by the operating system
		f.fs.reportLong(took)
	}
	return fullSync, f.fs.check("fsync", f.name, err)
}

func (fs *failStopFS) synchronized(took time.Duration) {
	fs.syncNs.Add(int64(took))
	fs.syncs.Add(1)
	fs.reportLong(took)
}

func (fs *failStopFS) reportLong(took time.Duration) {
	if took >= LongSync && fs.longSync != nil {
		fs.longSync(took)
	}
}

package disk

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Files is the file system of a Pebble database. A failed write or fsync in the store's folder ends
// the process. A commit with pebble.Sync waits as long as the durability mode requires. Files is
// safe for concurrent use.
type Files struct {
	vfs.FS
	failStop *failStopFS
	wal      *walFS        // nil under Sync
	deferred *deferredSync // nil under Sync
	readOnly bool
	logs     *KeptLogs // nil unless KeepLogs was called
}

// Guard returns the Files of the store in a folder. interval applies only to the mode Interval; 0
// means DefaultSyncInterval. The caller must close the Files after the Pebble database.
func Guard(fs vfs.FS, dir string, d Durability, interval time.Duration, log Log) (*Files, error) {
	dir = fs.PathJoin(dir) // cleaned, like Pebble's paths
	failStop := newFailStopFS(fs, dir, log)
	switch d {
	case Sync:
		return &Files{FS: failStop, failStop: failStop}, nil
	case Interval:
		if interval == 0 {
			interval = DefaultSyncInterval
		}
	case None:
		interval = 0
	default:
		return nil, fmt.Errorf("durability %q is not one of %q, %q, %q", d, Sync, Interval, None)
	}
	deferred := newDeferredSync(failStop, interval)
	wal := &walFS{FS: failStop, dir: dir, deferred: deferred}
	return &Files{FS: wal, failStop: failStop, wal: wal, deferred: deferred}, nil
}

// View returns the Files of a store that is only read.
func View(fs vfs.FS, dir string, log Log) (*Files, error) {
	dir = fs.PathJoin(dir)
	view, err := viewPending(fs, dir)
	if err != nil {
		return nil, err
	}
	failStop := newFailStopFS(view, dir, log)
	return &Files{FS: failStop, failStop: failStop, readOnly: true}, nil
}

// Lock locks the store. It then renames each pending log of an earlier process to its final name,
// or removes it. From then on Missing detects the loss of a file.
func (f *Files) Lock(name string) (io.Closer, error) {
	lock, err := f.FS.Lock(name)
	if err != nil || f.readOnly || !f.failStop.contains(name) {
		return lock, err
	}
	err = settlePending(f.failStop.FS, f.failStop.dir)
	if err == nil {
		err = forgetMissing(f.failStop.FS, f.failStop.dir)
	}
	if err == nil {
		err = f.failStop.here.begin()
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// Unwrap returns the wrapped file system.
func (f *Files) Unwrap() vfs.FS { return f.FS }

// KeepLogs makes Files retain logs that Pebble no longer needs; see KeptLogs. It must be called
// before the Pebble database is opened.
func (f *Files) KeepLogs() {
	whole := func(string) bool { return true } // Pebble fsyncs a log when it closes it
	if f.wal != nil {
		f.wal.logsFirst, whole = true, f.deferred.settled
	}
	f.logs = keepLogs(f.FS, f.failStop.dir, whole, f.wal == nil)
	f.FS = f.logs
}

// Logs returns the retained logs, or nil if KeepLogs was not called.
func (f *Files) Logs() *KeptLogs { return f.logs }

// OnLongSync sets a function that is called after each fsync of at least LongSync. Call it before
// the Pebble database is opened.
func (f *Files) OnLongSync(report func(took time.Duration)) { f.failStop.longSync = report }

// SyncLog makes every earlier commit with pebble.Sync durable, so that it survives a power loss, in
// every mode. If SyncLog returns an error, a write or fsync has failed, and the content of the disk
// is unknown.
func (f *Files) SyncLog() error {
	if f.deferred == nil {
		return nil // under Sync, each commit waited for its fsync
	}
	return f.deferred.syncAll()
}

// Track makes Files report to marks which commits a log fsync has made durable. It does nothing
// under Sync, where each commit waits for its fsync. It must be called before the Pebble database
// is opened.
func (f *Files) Track(marks SyncMarks) {
	if f.deferred != nil {
		f.deferred.track(marks)
	}
}

// SyncedLog returns the fsynced length of the newest log.
func (f *Files) SyncedLog() SyncedFile { return f.failStop.synced.current(syncedLog) }

// LogSyncs returns the number of fsyncs of the store's logs.
func (f *Files) LogSyncs() uint64 { return f.failStop.logSyncs.Load() }

// Fsyncs returns the number of fsyncs of all files and their total duration.
func (f *Files) Fsyncs() (n uint64, took time.Duration) {
	return f.failStop.syncs.Load(), time.Duration(f.failStop.syncNs.Load())
}

// Close fsyncs the remaining data and stops the background fsyncs. It returns an error if any fsync
// failed.
func (f *Files) Close() error {
	var err error
	if f.deferred != nil {
		err = f.deferred.close()
	}
	return errors.Join(err, f.failStop.synced.close(), f.failStop.here.end())
}

// Missing returns a *GoneError if another process removed or replaced the store's folder or a file
// in it. Only one goroutine at a time may call it, and only before Close.
func (f *Files) Missing() error { return f.failStop.here.look() }

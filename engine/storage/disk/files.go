package disk

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Files is the file system that a Pebble of ours works on. A write or fsync in the store's folder that fails ends the
// process, and a commit with pebble.Sync waits for what the durability says. It is safe for concurrent use.
type Files struct {
	vfs.FS
	failStop *failStopFS
	deferred *deferredSync // nil under Sync
}

// Guard returns the files of the store in a folder of a file system. The interval is that of Interval, with 0 for
// DefaultSyncInterval. Close them after the Pebble.
func Guard(fs vfs.FS, dir string, d Durability, interval time.Duration, log Log) (*Files, error) {
	dir = fs.PathJoin(dir) // without what Pebble leaves out of its paths
	failStop := &failStopFS{FS: fs, dir: dir, failed: log.Stop, synced: &syncedNote{fs: fs, path: fs.PathJoin(dir, syncedName)}}
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
	deferred := newDeferredSync(interval)
	return &Files{FS: &walFS{FS: failStop, deferred: deferred}, failStop: failStop, deferred: deferred}, nil
}

// Unwrap returns what the files are on.
func (f *Files) Unwrap() vfs.FS { return f.FS }

// SyncLog returns when every commit with pebble.Sync that was done before the call survives a loss of power, in
// whatever mode. An error is that of a write or fsync: nothing is known to be on the disk then.
func (f *Files) SyncLog() error {
	if f.deferred == nil {
		return nil // the commits waited for that
	}
	return f.deferred.syncAll()
}

// SyncedLog returns how far the newest log was fsynced.
func (f *Files) SyncedLog() SyncedFile { return f.failStop.synced.current(syncedLog) }

// LogSyncs is how many fsyncs of the store's log the file system was asked for.
func (f *Files) LogSyncs() uint64 { return f.failStop.logSyncs.Load() }

// Fsyncs is how many fsyncs the file system was asked for, of whatever file, and how long they took together.
func (f *Files) Fsyncs() (n uint64, took time.Duration) {
	return f.failStop.syncs.Load(), time.Duration(f.failStop.syncNs.Load())
}

// Close ends the fsyncs in the background, and returns the error of one that failed.
func (f *Files) Close() error {
	var err error
	if f.deferred != nil {
		err = f.deferred.close()
	}
	return errors.Join(err, f.failStop.synced.close())
}

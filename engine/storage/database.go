package storage

import (
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pronybench/prony/engine/storage/disk"
)

// database is the Pebble database of a store with its files.
type database struct {
	db         *pebble.DB
	fs         vfs.FS // does not defer fsyncs, unlike files
	dir        string
	lock       *pebble.Lock
	readOnly   bool
	replicated bool
	files      *disk.Files // the guarded files, on top of fs
	flushes    disk.Flushes
	position   atomic.Pointer[Position]
}

// apply applies a batch. After a write to the log has failed, Pebble panics at the next write;
// apply converts the panic to an error. The store can then be neither used nor closed.
func (d *database) apply(b *pebble.Batch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("write to the log: %v", p)
		}
	}()
	d.flushes.Commit(b.Len())
	return d.db.ApplyNoSyncWait(b, pebble.Sync)
}

// Position returns the last applied position of the log, or the zero value before the first entry.
func (d *database) Position() Position { return *d.position.Load() }

// syncBefore makes Pebble wait for syncLog before it records that a memtable is in tables. It
// returns the function that Pebble must call when a flush begins. Without a flush, Pebble does not
// wait: the output of compactions does not depend on the log.
func (d *database) syncBefore(syncLog func() error) (flushBegin func(pebble.FlushInfo)) {
	var flushes atomic.Bool               // whether a flush began since the log was last synced
	d.files.BeforeManifest(func() error { // Pebble calls this for one write at a time
		if !flushes.Swap(false) {
			return nil
		}
		err := syncLog()
		if err != nil {
			flushes.Store(true)
			return fmt.Errorf("sync the log before tables that depend on it: %w", err)
		}
		return nil
	})
	return func(info pebble.FlushInfo) {
		flushes.Store(true)
		d.flushes.Begin(info)
	}
}

func (d *database) unlock() error {
	if d.lock == nil {
		return nil
	}
	return d.lock.Close()
}

package disk

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// logsWaitingMax bounds the closed logs that wait for their fsync. A commit that closes one more waits for the disk.
const logsWaitingMax = 8

// deferredSync fsyncs the logs of a store in their order, in a goroutine of its own: no commit waits for it until logsWaitingMax logs
// wait. The newest log is fsynced at an interval, and in syncAll; a closed log, its folder entry and that of the next log as soon as the
// disk allows. After a failed fsync every later commit fails, because the content of the disk is not known.
//
// A log that is begun while an earlier one may be incomplete on the disk has a pending name until the earlier one is complete: pending.go
// says why. deferredSync is safe for concurrent use.
type deferredSync struct {
	fs   *failStopFS
	wake chan struct{} // holds one; there is work besides that of the interval
	stop chan struct{}
	done chan struct{}

	settling sync.Mutex // held while logs are renamed, fsynced and closed, in their order; no commit waits for it

	mu      sync.Mutex
	changed sync.Cond  // on mu: a log left the queue, its creation ended, or an fsync failed
	logs    []*walFile // oldest first; all but the newest are closed
	opening bool       // a log is being created: its name says that the last of logs comes before it
	waiting int        // closed logs
	err     error      // the first error
	marks   SyncMarks  // nil unless Files.Track was called
	marked  uint64     // the last mark
}

// newDeferredSync starts the fsyncs of the logs in a store's folder. With an interval of 0 the newest log is fsynced in syncAll only.
func newDeferredSync(fs *failStopFS, interval time.Duration) *deferredSync {
	d := &deferredSync{fs: fs, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	d.changed.L = &d.mu
	go d.run(interval)
	return d
}

func (d *deferredSync) run(interval time.Duration) {
	defer close(d.done)
	var tick <-chan time.Time
	if interval > 0 {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-d.stop:
			return
		case <-d.wake:
			_ = d.settle(false) // failed returns the error to the next commit
		case <-tick:
			_ = d.settle(true)
		}
	}
}

// poke has the goroutine look at the logs.
func (d *deferredSync) poke() {
	select {
	case d.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// syncAll fsyncs everything that was written to the logs before the call.
func (d *deferredSync) syncAll() error { return d.settle(true) }

// settle does for each log what there is to do, oldest first. It fsyncs the newest log only if newest is set.
func (d *deferredSync) settle(newest bool) error {
	d.settling.Lock()
	defer d.settling.Unlock()
	d.mu.Lock()
	logs := slices.Clone(d.logs)
	err := d.err
	var mark uint64
	if newest && err == nil {
		mark = d.markLocked()
	}
	d.mu.Unlock()
	for _, f := range logs {
		if err != nil {
			return err
		}
		if err = d.settleLog(f, newest); err != nil {
			err = fmt.Errorf("fsync of the log: %w", err)
			d.fs.failed(fmt.Sprintf("%s: %v", f.name, err)) // before a commit sees the error: Pebble panics if it begins a log then
			d.mu.Lock()
			d.err = err
			d.changed.Broadcast()
			d.mu.Unlock()
		}
	}
	if newest && err == nil {
		d.synced(mark)
	}
	return err
}

// settleLog does for one log what there is to do. All logs before it are complete on the disk.
func (d *deferredSync) settleLog(f *walFile, newest bool) error {
	if err := d.enter(f); err != nil {
		return err
	}
	d.mu.Lock()
	closed, mark := f.closed, f.mark
	d.mu.Unlock()
	if to := f.writeTo.Swap(0); to > 0 && !closed && !newest {
		if _, err := f.File.SyncTo(to); err != nil {
			return err
		}
	}
	// dirty is cleared first: the next fsync covers later writes.
	if (closed || newest) && f.dirty.Swap(false) {
		if err := f.File.SyncData(); err != nil {
			return err
		}
	}
	if !closed {
		return nil
	}
	d.synced(mark)
	return errors.Join(f.File.Close(), d.finish(f))
}

// enter gives a log its own name, and makes its folder entry durable.
func (d *deferredSync) enter(f *walFile) error {
	if f.entered {
		return nil
	}
	if err := d.rename(f); err != nil {
		return err
	}
	if err := SyncDir(d.fs, d.fs.dir); err != nil {
		return err
	}
	f.entered = true
	if f.replaces != "" {
		d.discard(f.replaces)
	}
	return nil
}

// discard removes a log that is no longer needed. If that fails, the log stays until the store is opened again, which loses nothing.
func (d *deferredSync) discard(name string) { _ = d.fs.Remove(name) }

// rename gives a log its own name.
func (d *deferredSync) rename(f *walFile) error {
	if f.pathNow() == f.name {
		return nil
	}
	if err := d.fs.Rename(f.pathNow(), f.name); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f.path = f.name
	return nil
}

// finish takes the oldest log, which is complete on the disk, off the queue. The next log has its own name before the file of the
// oldest may be removed.
func (d *deferredSync) finish(oldest *walFile) error {
	for {
		next, removed := d.take(oldest)
		if next != nil {
			if err := d.rename(next); err != nil {
				return err
			}
			continue
		}
		if removed {
			d.discard(oldest.name)
		}
		return nil
	}
}

// take takes the oldest log off the queue, or returns the next log, which is to be renamed before. removed reports whether Pebble
// removed the oldest.
func (d *deferredSync) take(oldest *walFile) (next *walFile, removed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.opening {
		d.changed.Wait()
	}
	if len(d.logs) > 1 && d.logs[1].path != d.logs[1].name {
		return d.logs[1], false
	}
	d.logs = slices.Delete(d.logs, 0, 1)
	d.waiting--
	d.changed.Broadcast()
	return nil, oldest.removed
}

// begin creates the log of a name with a function that gets the log's path, and adds the log to the queue. replaces, if not empty, is
// removed once the log is in its folder. Pebble creates one log at a time.
func (d *deferredSync) begin(name, replaces string, create func(path string) (vfs.File, error)) (vfs.File, error) {
	d.mu.Lock()
	path := name
	if n := len(d.logs); n > 0 {
		path = pendingName(name, logNumber(d.fs, d.logs[n-1].name))
	}
	d.opening = true
	d.mu.Unlock()

	file, err := create(path)

	d.mu.Lock()
	defer d.mu.Unlock()
	d.opening = false
	d.changed.Broadcast()
	if err != nil {
		return file, err
	}
	f := &walFile{File: file, deferred: d, name: name, path: path, replaces: replaces}
	d.logs = append(d.logs, f)
	d.poke()
	return f, nil
}

// end passes a log on to the goroutine when Pebble closes it. It waits if too many logs are with the goroutine.
func (d *deferredSync) end(f *walFile) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.closed, f.mark = true, d.markLocked() // later acknowledgements may be of the next log
	d.waiting++
	d.poke()
	for d.waiting > logsWaitingMax && d.err == nil {
		d.changed.Wait()
	}
	return d.err
}

// remove has the goroutine remove a log that it still needs, and reports whether it does.
func (d *deferredSync) remove(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.logs {
		if f.name == name {
			f.removed = true
			return true
		}
	}
	return false
}

// path returns where the log of a name is now.
func (d *deferredSync) path(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.logs {
		if f.name == name {
			return f.path
		}
	}
	return name
}

// settled reports whether the log of a name is complete on the disk, or unknown.
func (d *deferredSync) settled(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !slices.ContainsFunc(d.logs, func(f *walFile) bool { return f.name == name })
}

func (d *deferredSync) failed() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// close ends the goroutine, and fsyncs what it left.
func (d *deferredSync) close() error {
	close(d.stop)
	<-d.done
	return d.settle(true)
}

// walFile is a log while Pebble writes to it, and until it is complete on the disk.
type walFile struct {
	vfs.File
	deferred *deferredSync
	name     string // the log's own path
	replaces string // a file to remove once this one is in its folder; may be empty

	dirty   atomic.Bool  // the file has data that no fsync covers yet
	writeTo atomic.Int64 // up to where the operating system is to begin to write; 0 if it is not

	entered bool // the log has its own name, and the folder's entry is on the disk; guarded by deferred.settling

	// Guarded by deferred.mu.
	path    string // where the file is
	closed  bool   // by Pebble
	mark    uint64 // when it was closed
	removed bool   // by Pebble
}

func (f *walFile) Sync() error     { return f.later() }
func (f *walFile) SyncData() error { return f.later() }

// SyncTo has the goroutine ask the operating system to begin to write: the system call waits for writes that are under way.
// Without it the fsync of a log would write the whole log.
func (f *walFile) SyncTo(length int64) (fullSync bool, err error) {
	f.writeTo.Store(length)
	f.deferred.poke()
	return false, f.later()
}

func (f *walFile) later() error {
	f.dirty.Store(true)
	return errors.Join(f.deferred.failed(), f.deferred.fs.checkPresent())
}

// Close passes the log on to be fsynced, in every mode.
func (f *walFile) Close() error { return f.deferred.end(f) }

func (f *walFile) pathNow() string {
	f.deferred.mu.Lock()
	defer f.deferred.mu.Unlock()
	return f.path
}

// logNumber returns the number of the log of a path.
func logNumber(fs vfs.FS, path string) uint64 {
	number, _, _ := wal.ParseLogFilename(fs.PathBase(path))
	return uint64(number)
}

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

// logsWaitingMax is the maximum number of closed logs that wait for their fsync. A commit that
// closes another log waits for the disk.
const logsWaitingMax = 8

// deferredSync fsyncs the logs of a store in order, in a separate goroutine. Commits do not wait
// for it, unless more than logsWaitingMax closed logs wait for their fsync. It fsyncs the newest
// log at an interval and in syncAll. When a log is closed, it fsyncs the log, its folder entry and
// the folder entry of the next log as soon as possible. After a failed fsync every later commit
// fails, because the content of the disk is unknown.
//
// When Pebble starts a log, the earlier log may be incomplete on the disk. The new log then has a
// pending name until the earlier log is complete; pending.go explains why. deferredSync is safe for
// concurrent use.
type deferredSync struct {
	fs   *failStopFS
	wake chan struct{} // capacity 1; signals work that must not wait for the interval
	stop chan struct{}
	done chan struct{}

	// settling is held while logs are renamed, fsynced and closed, in order. Commits do not lock
	// it.
	settling sync.Mutex

	mu sync.Mutex
	// changed, on mu, signals that a log left the queue, that the creation of a log ended, or that
	// an fsync failed.
	changed sync.Cond
	logs    []*walFile // oldest first; all but the newest are closed
	// opening means that a log is being created whose pending name contains the number of the last
	// of logs.
	opening bool
	waiting int       // number of closed logs
	err     error     // the first error
	marks   SyncMarks // nil unless Files.Track was called
	marked  uint64    // the last mark
}

// newDeferredSync starts the fsyncs of the logs in a store's folder. If interval is 0, only syncAll
// and close fsync the newest log.
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
			_ = d.settle(false) // the next commit gets the error from the method failed
		case <-tick:
			_ = d.settle(true)
		}
	}
}

func (d *deferredSync) poke() {
	select {
	case d.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

func (d *deferredSync) syncAll() error { return d.settle(true) }

// settle completes the pending work on each log, oldest first. It fsyncs the newest log only if
// newest is true.
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
			// Report the error before a commit sees it: Pebble would panic if it then created a
			// log.
			d.fs.failed(fmt.Sprintf("%s: %v", f.name, err))
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

// settleLog completes the pending work on one log. All logs before it must be complete on the disk.
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
	// Clear dirty before the fsync, so that a write during the fsync sets it again.
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

// enter renames a log to its final name and makes its folder entry durable.
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

// discard removes a log that is no longer needed. If that fails, the log stays until the next open
// of the store, which is harmless.
func (d *deferredSync) discard(name string) { _ = d.fs.Remove(name) }

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

// finish removes the oldest log, which is complete on the disk, from the queue. It first renames
// the next log to its final name, because the file of the oldest log may be removed afterwards.
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

// take removes the oldest log from the queue. If the next log must be renamed first, take returns
// the next log and changes nothing. removed reports whether Pebble has removed the oldest log.
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

// begin creates the log with the given name and adds it to the queue. create gets the path under
// which it must create the file. If replaces is not empty, the file replaces is removed once the
// log's folder entry is durable. Pebble creates only one log at a time.
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

// end passes a log to the goroutine when Pebble closes it. It blocks while more than logsWaitingMax
// logs wait.
func (d *deferredSync) end(f *walFile) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.closed, f.mark = true, d.markLocked() // later commits may be in the next log
	d.waiting++
	d.poke()
	for d.waiting > logsWaitingMax && d.err == nil {
		d.changed.Wait()
	}
	return d.err
}

// remove reports whether the goroutine still needs a log. If so, the goroutine removes the log when
// it no longer needs it; otherwise the caller must remove it.
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

// settled reports whether a log is complete on the disk. It also returns true for a file that is
// not in the queue.
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

func (d *deferredSync) close() error {
	close(d.stop)
	<-d.done
	return d.settle(true)
}

// walFile is a log that was created and may not be complete on the disk.
type walFile struct {
	vfs.File
	deferred *deferredSync
	name     string // the log's final path
	replaces string // a file to remove once the folder entry of this log is durable; or ""

	dirty   atomic.Bool  // the file contains data that is not fsynced yet
	writeTo atomic.Int64 // length up to which write-back is requested; 0 means no request

	// entered is set when the log has its final name and a durable folder entry. deferred.settling
	// guards it.
	entered bool

	// Guarded by deferred.mu.
	path    string // the file's current path
	closed  bool   // Pebble has closed the log
	mark    uint64 // the mark of the time when Pebble closed the log
	removed bool   // Pebble has removed the log
}

func (f *walFile) Sync() error     { return f.later() }
func (f *walFile) SyncData() error { return f.later() }

// SyncTo makes the goroutine request write-back of the log from the operating system. The caller
// does not make the system call, because the call waits for writes under way. Without earlier
// write-back, the fsync of a log would have to write the whole log.
func (f *walFile) SyncTo(length int64) (fullSync bool, err error) {
	f.writeTo.Store(length)
	f.deferred.poke()
	return false, f.later()
}

func (f *walFile) later() error {
	f.dirty.Store(true)
	return errors.Join(f.deferred.failed(), f.deferred.fs.checkPresent())
}

// Close passes the log to the goroutine, which fsyncs and closes the file.
func (f *walFile) Close() error { return f.deferred.end(f) }

func (f *walFile) pathNow() string {
	f.deferred.mu.Lock()
	defer f.deferred.mu.Unlock()
	return f.path
}

func logNumber(fs vfs.FS, path string) uint64 {
	number, _, _ := wal.ParseLogFilename(fs.PathBase(path))
	return uint64(number)
}

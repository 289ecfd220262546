package disk

import (
	"fmt"
	"sync"
	"time"
)

// deferredSync fsyncs the log's files at an interval, and in syncAll. After a failed fsync every later commit fails, because the
// content of the disk is not known.
type deferredSync struct {
	mu    sync.Mutex
	files map[*walFile]struct{}
	err   error

	stop chan struct{}
	done chan struct{}
}

// newDeferredSync starts the fsyncs. With an interval of 0 only syncAll fsyncs.
func newDeferredSync(interval time.Duration) *deferredSync {
	d := &deferredSync{files: map[*walFile]struct{}{}, stop: make(chan struct{}), done: make(chan struct{})}
	if interval == 0 {
		close(d.done)
		return d
	}
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
			_ = d.syncAll() // failed returns the error to the next commit
		}
	}
}

// syncAll fsyncs everything that was written to the log before the call.
func (d *deferredSync) syncAll() error {
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
	return d.failed()
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

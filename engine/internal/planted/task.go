//go:build planted

package planted

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/pronybench/prony/engine/internal/compute"
)

// Task must be called by the deciding goroutine for each enqueued task. fs and dir are the file
// system and the folder of the store.
func Task(fs vfs.FS, dir string) error {
	switch fault.name {
	case "cpu":
		burn(fault.amount.time)
	case "alloc":
		storm(fault.amount.count)
	case "fsync":
		if tasks++; tasks >= fault.amount.per {
			tasks = 0
			return syncs.one(fs, fs.PathJoin(dir, "planted"), fault.amount.count)
		}
	case "work":
		sink.number = compute.Steps(fault.amount.count)
	case "decay":
		sink.number = compute.Steps(slower.steps(fault.amount.count, time.Now()))
	case "wait":
		commit.wait(fault.amount.time)
	case "leak":
		leaked.task(fault.amount.count)
	case "background":
		beside.task(fault.amount.count)
	}
	return nil
}

// tasks is the number of tasks that were enqueued since the fault's last fsync.
var tasks int

// decay makes the server slower with the time since the first task of any shard. Only the deciding
// goroutine of a shard uses it.
type decay struct{ since time.Time }

var slower decay

// steps returns the number of steps of a task at time now. It is eachMinute times the minutes since
// the first task, but at most countMax.
func (d *decay) steps(eachMinute int, now time.Time) int {
	if d.since.IsZero() {
		d.since = now
	}
	return int(min(countMax, now.Sub(d.since).Minutes()*float64(eachMinute)))
}

// background computes in a separate goroutine while the server serves requests.
type background struct {
	start sync.Once
	owed  atomic.Int64  // number of steps still to compute
	wake  chan struct{} // has capacity one
	sink  uint64
}

var beside = background{wake: make(chan struct{}, 1)}

// pieceSteps is the number of steps that are computed in one piece. They take 0.1 or 0.2 ms.
const pieceSteps = 1 << 16

// task adds steps to compute. The first call starts the goroutine, which runs until the process
// ends.
func (b *background) task(steps int) {
	b.start.Do(func() {
		go func() {
			for range b.wake {
				b.sink = compute.Steps(int(b.owed.Swap(0)))
			}
		}()
	})
	if b.owed.Add(int64(steps)) >= pieceSteps {
		select {
		case b.wake <- struct{}{}:
		default: // the goroutine is awake
		}
	}
}

// fsyncs contains the files that the fault fsyncs, by name.
type fsyncs struct {
	mu    sync.Mutex
	files map[string]vfs.File
}

var syncs = fsyncs{files: map[string]vfs.File{}}

// one writes to a file and calls fsync, the given number of times. The first call creates the file
// and keeps it open.
func (s *fsyncs) one(fs vfs.FS, name string, times int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[name]
	if f == nil {
		var err error
		if f, err = fs.Create(name, vfs.WriteCategoryUnspecified); err != nil {
			return fmt.Errorf("make the file of the planted fault: %w", err)
		}
		s.files[name] = f
	}
	for range times {
		_, err := f.WriteAt([]byte{1}, 0)
		if err == nil {
			err = f.SyncData()
		}
		if err != nil {
			return fmt.Errorf("fsync for the planted fault: %w", err)
		}
	}
	return nil
}

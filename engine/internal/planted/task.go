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

// Task is called by the deciding goroutine for each task enqueued, with the files of the store and the folder it is in.
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

// tasks is how many tasks were enqueued since the last fsync of the fault.
var tasks int

// decay is since when the server becomes slower. Only a shard's deciding goroutine uses it: of several shards the first task of any counts.
type decay struct{ since time.Time }

var slower decay

// steps returns how many steps a task takes at a time, which are so many more each minute since the first task. There are countMax at most.
func (d *decay) steps(eachMinute int, now time.Time) int {
	if d.since.IsZero() {
		d.since = now
	}
	return int(min(countMax, now.Sub(d.since).Minutes()*float64(eachMinute)))
}

// background computes beside the goroutines that serve requests, as much as tasks ask for.
type background struct {
	start sync.Once
	owed  atomic.Int64  // steps
	wake  chan struct{} // of capacity one
	sink  uint64
}

var beside = background{wake: make(chan struct{}, 1)}

// pieceSteps is how many steps are computed at a time: a tenth of a millisecond or two.
const pieceSteps = 1 << 16

// task asks for some steps. It starts the goroutine at the first task, which ends with the process.
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
		default: // it is awake
		}
	}
}

// fsyncs are files that are fsynced, by name.
type fsyncs struct {
	mu    sync.Mutex
	files map[string]vfs.File
}

var syncs = fsyncs{files: map[string]vfs.File{}}

// one writes to a file, which it makes at first, and fsyncs it so many times. The file stays open.
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

//go:build planted

package planted

import (
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Task is called by the deciding goroutine for each task enqueued, with the files of the store and the folder it is in.
func Task(fs vfs.FS, dir string) error {
	switch fault.name {
	case "cpu":
		burn(fault.amount.time)
	case "alloc":
		storm(fault.amount.count)
	case "fsync":
		return syncs.one(fs, fs.PathJoin(dir, "planted"), fault.amount.count)
	}
	return nil
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

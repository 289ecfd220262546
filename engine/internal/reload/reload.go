// Package reload provides a value that is loaded from files, and loaded again after the files have
// changed.
//
// The package has no goroutine: using the value checks the files, at most once per CheckEvery. If
// the changed files cannot be loaded, the previous value remains in use, and Options.Changed is
// called with the error.
package reload

import (
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// CheckEvery is the minimum interval between two checks of the files.
const CheckEvery = time.Second

// Options describes the files of a value and how to load it.
type Options[T any] struct {
	Names []string // paths of the files; "" is ignored
	Load  func() (T, error)
	Now   func() time.Time
	// Changed is called with the result of Load after the files have changed. If the error is not
	// nil, the previous value remains in use.
	Changed func(T, error)
}

// Value is a value loaded from files. Its methods are safe for concurrent use.
type Value[T any] struct {
	options Options[T]
	started time.Time
	checked atomic.Int64 // time of the last check, in nanoseconds after started
	current atomic.Pointer[T]

	mu   sync.Mutex
	seen []os.FileInfo // by file: its state at the last load; nil if it did not exist
}

// Open loads the value for the first time.
func Open[T any](o Options[T]) (*Value[T], error) {
	v := &Value[T]{options: o, started: o.Now(), seen: stat(o.Names)}
	first, err := o.Load()
	if err != nil {
		return nil, err
	}
	v.current.Store(&first)
	return v, nil
}

// Get returns the value. If the files have changed, one caller per CheckEvery loads the value
// again. Concurrent callers get the previous value.
func (v *Value[T]) Get() T {
	v.refresh()
	return *v.current.Load()
}

func (v *Value[T]) refresh() {
	now, last := int64(v.options.Now().Sub(v.started)), v.checked.Load()
	if now-last < int64(CheckEvery) || !v.checked.CompareAndSwap(last, now) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	// Read the state before loading, so that the next check finds a change that happens during the
	// load.
	files := stat(v.options.Names)
	if same(files, v.seen) {
		return
	}
	v.seen = files
	next, err := v.options.Load()
	if err == nil {
		v.current.Store(&next)
	}
	v.options.Changed(next, err)
}

func stat(names []string) []os.FileInfo {
	infos := make([]os.FileInfo, len(names))
	for i, name := range names {
		if info, err := os.Stat(name); err == nil { // a missing file counts as a change
			infos[i] = info
		}
	}
	return infos
}

func same(a, b []os.FileInfo) bool {
	for i := range a {
		if a[i] == nil || b[i] == nil {
			if a[i] != b[i] {
				return false
			}
			continue
		}
		if !os.SameFile(a[i], b[i]) || !a[i].ModTime().Equal(b[i].ModTime()) || a[i].Size() != b[i].Size() {
			return false
		}
	}
	return true
}

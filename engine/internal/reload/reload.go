// Package reload keeps a value that was made from files, and makes it again after the files changed.
//
// The files are looked at when the value is used, at most once in CheckEvery; there is no goroutine. Files that cannot be used change
// nothing: the value that was made before stays in use, and Options.Changed gets the error.
package reload

import (
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// CheckEvery is how often the files are looked at while their value is in use.
const CheckEvery = time.Second

// Options say which files a value is made from, and how.
type Options[T any] struct {
	Names []string // of the files; "" stands for a file that is not used
	Load  func() (T, error)
	Now   func() time.Time
	// Changed is called after the files changed, with the new value or with the error for which the old one stays in use.
	Changed func(T, error)
}

// Value is a value made from files. Its methods are safe for concurrent use.
type Value[T any] struct {
	options Options[T]
	started time.Time
	checked atomic.Int64 // when the files were last looked at: nanoseconds after started
	current atomic.Pointer[T]

	mu   sync.Mutex
	seen []os.FileInfo // one for each file, as of the last read; nil for a file that did not exist. Guarded by mu
}

// Open makes the value for the first time.
func Open[T any](o Options[T]) (*Value[T], error) {
	v := &Value[T]{options: o, started: o.Now(), seen: stat(o.Names)}
	first, err := o.Load()
	if err != nil {
		return nil, err
	}
	v.current.Store(&first)
	return v, nil
}

// Get returns the value. One caller in CheckEvery makes it again if the files changed; the others get the value that is there.
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
	files := stat(v.options.Names) // before they are read: a change during the read is seen the next time
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
		if info, err := os.Stat(name); err == nil { // a file that is missing is one that changed
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

package unsynced

import (
	"sync"
	"sync/atomic"
	"time"
)

// Loss is what a loss of power would take.
type Loss struct {
	Tasks uint64        // acknowledged enqueues and completions: a task that was enqueued and completed counts twice
	Age   time.Duration // of the oldest of these acknowledgements
}

// Window is the window of loss of one shard. It is safe for concurrent use. A nil Window counts nothing.
type Window struct {
	covered func(Loss)
	counts  atomic.Bool // Begin was called

	mu     sync.Mutex
	open   period   // acknowledged since the last mark
	marked []period // not synced yet, oldest first; disk.SyncMarks bounds them
}

// period is what was acknowledged between two marks.
type period struct {
	mark  uint64
	tasks uint64
	began time.Time // the first acknowledgement
}

// New returns a window that counts nothing until Begin. covered, if not nil, is called after each fsync that covered tasks, with the loss
// until that moment. The loss only grows between two fsyncs, so these are its peaks.
func New(covered func(Loss)) *Window {
	if covered == nil {
		covered = func(Loss) {}
	}
	return &Window{covered: covered}
}

// Begin has the window count. It is called if acknowledgements do not wait for an fsync.
func (w *Window) Begin() { w.counts.Store(true) }

// Counts reports whether acknowledgements come before the fsync, so that the window counts them.
func (w *Window) Counts() bool { return w != nil && w.counts.Load() }

// Acknowledged adds enqueues and completions of tasks that are about to be acknowledged. It is called after their commit was written to the
// operating system, and before the answer goes out.
func (w *Window) Acknowledged(tasks int) {
	if tasks == 0 || !w.Counts() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open.tasks == 0 {
		w.open.began = time.Now()
	}
	w.open.tasks += uint64(tasks)
}

// Mark gives what was acknowledged so far a number, which is greater than those before.
func (w *Window) Mark(n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open.tasks == 0 {
		return
	}
	w.open.mark = n
	w.marked = append(w.marked, w.open)
	w.open = period{}
}

// Synced removes what has a number up to n: it survives a loss of power from now on.
func (w *Window) Synced(n uint64) {
	if until, covers := w.synced(n); covers {
		w.covered(until)
	}
}

func (w *Window) synced(n uint64) (until Loss, covers bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	covered := 0
	for covered < len(w.marked) && w.marked[covered].mark <= n {
		covered++
	}
	if covered == 0 {
		return Loss{}, false
	}
	until = w.lossLocked()
	w.marked = append(w.marked[:0], w.marked[covered:]...)
	return until, true
}

// Loss returns what a loss of power would take now.
func (w *Window) Loss() Loss {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lossLocked()
}

func (w *Window) lossLocked() Loss {
	oldest, tasks := w.open, w.open.tasks
	if len(w.marked) > 0 {
		oldest = w.marked[0]
	}
	for _, p := range w.marked {
		tasks += p.tasks
	}
	if tasks == 0 {
		return Loss{}
	}
	return Loss{Tasks: tasks, Age: time.Since(oldest.began)}
}

// Windows are those of the shards whose acknowledgements rely on the same log. They implement disk.SyncMarks.
type Windows []*Window

// Begin calls Window.Begin of all.
func (all Windows) Begin() {
	for _, w := range all {
		w.Begin()
	}
}

// Mark calls Window.Mark of all.
func (all Windows) Mark(n uint64) {
	for _, w := range all {
		w.Mark(n)
	}
}

// Synced calls Window.Synced of all.
func (all Windows) Synced(n uint64) {
	for _, w := range all {
		w.Synced(n)
	}
}

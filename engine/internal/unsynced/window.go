package unsynced

import (
	"sync"
	"sync/atomic"
	"time"
)

// Loss describes the acknowledgements that a power loss would lose.
type Loss struct {
	// Tasks is the number of enqueues and completions. A task that was enqueued and completed
	// counts twice.
	Tasks uint64
	Age   time.Duration // age of the oldest of these acknowledgements
}

// Window is the window of loss of one shard. It is safe for concurrent use. A nil Window counts
// nothing.
type Window struct {
	covered func(Loss)
	counts  atomic.Bool // true once Begin was called

	mu     sync.Mutex
	open   period   // the acknowledgements since the last mark
	marked []period // marked but not synced, oldest first; disk.SyncMarks limits their number
}

// period contains the acknowledgements between two marks.
type period struct {
	mark  uint64
	tasks uint64
	began time.Time // time of the first acknowledgement
}

// New returns a window that starts to count when Begin is called. If covered is not nil, the window
// calls it after each fsync that made tasks durable, with the loss just before the fsync. Between
// two fsyncs the loss only grows, so covered receives its peaks.
func New(covered func(Loss)) *Window {
	if covered == nil {
		covered = func(Loss) {}
	}
	return &Window{covered: covered}
}

// Begin starts counting. It must be called if the shard does not wait for an fsync before it
// acknowledges.
func (w *Window) Begin() { w.counts.Store(true) }

// Counts reports whether the window counts, which means that the shard acknowledges before the
// fsync.
func (w *Window) Counts() bool { return w != nil && w.counts.Load() }

// Acknowledged adds enqueues and completions that are about to be acknowledged. Call it after their
// commit was written to the operating system, and before the answer is sent.
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

// Mark assigns a number to all acknowledgements since the last mark. The numbers must increase.
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

// Synced removes the acknowledgements with numbers up to n, because they would now survive a power
// loss.
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

// Loss returns what a power loss would lose now.
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

// Windows contains the windows of the shards that share a log. It implements disk.SyncMarks.
type Windows []*Window

// Begin calls Begin of each window.
func (all Windows) Begin() {
	for _, w := range all {
		w.Begin()
	}
}

// Mark calls Mark of each window.
func (all Windows) Mark(n uint64) {
	for _, w := range all {
		w.Mark(n)
	}
}

// Synced calls Synced of each window.
func (all Windows) Synced(n uint64) {
	for _, w := range all {
		w.Synced(n)
	}
}

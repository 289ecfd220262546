package historytest

import (
	"slices"
	"sync"
	"time"
)

// opsMax bounds the operations of a recorder, which then use some hundred megabytes.
const opsMax = 1 << 21

// Recorder records operations. Its methods are safe for concurrent use.
type Recorder struct {
	start time.Time

	mu  sync.Mutex
	ops []Op
}

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder { return &Recorder{start: time.Now()} }

// Now returns the time since the recorder was made.
func (r *Recorder) Now() time.Duration { return time.Since(r.start) }

// Call records the call of an operation. The returned function records its return, and adds the
// operation to the history.
func (r *Recorder) Call(op Op) func(change func(*Op)) {
	op.Call = r.Now()
	return func(change func(*Op)) {
		op.Return = r.Now()
		change(&op)
		op.CallMs, op.ReturnMs = r.unixMs(op.Call), r.unixMs(op.Return)
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.ops) == opsMax {
			panic("history: too many operations for one recorder") // an endless test
		}
		r.ops = append(r.ops, op)
	}
}

func (r *Recorder) unixMs(since time.Duration) int64 {
	return r.start.UnixMilli() + since.Milliseconds()
}

// Ops returns the operations that have returned, in the order of their returns.
func (r *Recorder) Ops() []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ops)
}

// Count returns the number of operations of a kind with an outcome.
func (r *Recorder) Count(k Kind, o Outcome) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for i := range r.ops {
		if r.ops[i].Kind == k && r.ops[i].Outcome == o {
			n++
		}
	}
	return n
}

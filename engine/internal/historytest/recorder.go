package historytest

import (
	"slices"
	"sync"
	"time"
)

// opsMax is the maximum number of operations of a recorder. They then use several hundred
// megabytes.
const opsMax = 1 << 21

// Recorder records operations. Its methods are safe for concurrent use.
type Recorder struct {
	start time.Time

	mu  sync.Mutex
	ops []Op
}

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder { return &Recorder{start: time.Now()} }

// Now returns the time since the recorder was created.
func (r *Recorder) Now() time.Duration { return time.Since(r.start) }

// Call records the start of an operation. The returned function records the operation's return, and
// adds the operation to the history.
func (r *Recorder) Call(op Op) func(change func(*Op)) {
	op.Call = r.Now()
	return func(change func(*Op)) {
		op.Return = r.Now()
		change(&op)
		op.CallMs, op.ReturnMs = r.unixMs(op.Call), r.unixMs(op.Return)
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.ops) == opsMax {
			panic("history: too many operations for one recorder") // the test does not end
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

// Count returns the number of operations with the given kind and outcome.
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

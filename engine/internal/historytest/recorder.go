package historytest

import (
	"slices"
	"sync"
	"time"
)

// opsMax bounds what a recorder keeps: some hundred megabytes.
const opsMax = 1 << 21

// Recorder takes operations down. Its methods are safe for concurrent use.
type Recorder struct {
	start time.Time

	mu  sync.Mutex
	ops []Op
}

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder { return &Recorder{start: time.Now()} }

// Now is the time of the recorder.
func (r *Recorder) Now() time.Duration { return time.Since(r.start) }

// Call notes an operation that was called just now, and returns what notes its return. Nothing of it is in the history
// before.
func (r *Recorder) Call(op Op) func(change func(*Op)) {
	op.Call = r.Now()
	return func(change func(*Op)) {
		op.Return = r.Now()
		change(&op)
		op.CallMs, op.ReturnMs = r.unixMs(op.Call), r.unixMs(op.Return)
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.ops) == opsMax {
			panic("history: too many operations for one recorder") // a test that goes on for ever
		}
		r.ops = append(r.ops, op)
	}
}

func (r *Recorder) unixMs(since time.Duration) int64 {
	return r.start.UnixMilli() + since.Milliseconds()
}

// Ops returns what returned so far, in that order.
func (r *Recorder) Ops() []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ops)
}

// Count returns how many operations of a kind had an outcome.
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

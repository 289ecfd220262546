package memory

import (
	"errors"
	"sync/atomic"
)

// ErrExhausted says that the server holds as much as its memory allows; the caller should try again later.
var ErrExhausted = errors.New("the server holds as much as its memory allows: try again later")

// Budget is a number of bytes, or of other things, that many take from. A nil Budget gives everything. It is safe for
// concurrent use.
type Budget struct {
	max   int64
	taken atomic.Int64
}

// NewBudget returns a budget.
func NewBudget(most int64) *Budget { return &Budget{max: most} }

// Take takes n if there is as much, and reports whether it did.
func (b *Budget) Take(n int64) bool {
	if b == nil {
		return true
	}
	if b.taken.Add(n) > b.max {
		b.taken.Add(-n)
		return false
	}
	return true
}

// Force takes n whether or not there is as much, and reports whether there was: for what is here already.
func (b *Budget) Force(n int64) bool { return b == nil || b.taken.Add(n) <= b.max }

// Give gives back n that was taken.
func (b *Budget) Give(n int64) {
	if b != nil && n != 0 {
		b.taken.Add(-n)
	}
}

// Taken returns how much is taken.
func (b *Budget) Taken() int64 {
	if b == nil {
		return 0
	}
	return b.taken.Load()
}

// Full says whether nothing is left.
func (b *Budget) Full() bool { return b != nil && b.taken.Load() >= b.max }

package memory

import "sync/atomic"

// Budget limits the total number of bytes, or other units, that its users may take. A nil Budget
// has no limit. A Budget is safe for concurrent use.
type Budget struct {
	max   int64
	taken atomic.Int64
}

// NewBudget returns a budget with the given limit.
func NewBudget(most int64) *Budget { return &Budget{max: most} }

// Take takes n units, or returns false if the total would then exceed the limit.
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

// Force takes n units even if the total then exceeds the limit. It reports whether the total is
// within the limit. It is meant for memory that is already in use.
func (b *Budget) Force(n int64) bool { return b == nil || b.taken.Add(n) <= b.max }

// Give returns n units to the budget.
func (b *Budget) Give(n int64) {
	if b != nil && n != 0 {
		b.taken.Add(-n)
	}
}

// Taken returns the number of units in use.
func (b *Budget) Taken() int64 {
	if b == nil {
		return 0
	}
	return b.taken.Load()
}

// Full reports whether the whole budget is in use.
func (b *Budget) Full() bool { return b != nil && b.taken.Load() >= b.max }

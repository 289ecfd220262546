// Package recycle keeps slices for reuse, so that a hot path does not allocate a slice for each
// batch.
package recycle

import "sync"

// elementsMax is the maximum capacity of a slice that a Pool keeps, in elements. Larger slices are
// rare and would waste memory.
const elementsMax = 4_096

// Pool keeps slices of one type. The garbage collector frees slices that are not reused for some
// time. The zero value is an empty pool. A Pool is safe for concurrent use.
type Pool[T any] struct{ kept sync.Pool }

// Take returns a slice of n zero elements. Its capacity may exceed n.
func (p *Pool[T]) Take(n int) []T {
	if kept, ok := p.kept.Get().(*[]T); ok && cap(*kept) >= n {
		return (*kept)[:n]
	}
	return make([]T, n)
}

// Give clears a slice and keeps it for later calls of Take. The caller must have the only reference
// to the slice. All elements that were written since Take must be within the slice's length.
func (p *Pool[T]) Give(s []T) {
	if cap(s) == 0 || cap(s) > elementsMax {
		return
	}
	clear(s)
	p.kept.Put(&s)
}

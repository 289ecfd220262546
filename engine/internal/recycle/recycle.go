// Package recycle keeps slices for reuse, so that a hot path does not allocate one for each batch.
package recycle

import "sync"

// elementsMax is the largest capacity that a Pool keeps: more is rare, and would be held for nothing.
const elementsMax = 4_096

// Pool keeps slices of one type. The garbage collector takes those that are not used for some time. The zero value is an empty pool. A Pool
// is safe for concurrent use.
type Pool[T any] struct{ kept sync.Pool }

// Take returns a slice of n zero elements, which may have room for more.
func (p *Pool[T]) Take(n int) []T {
	if kept, ok := p.kept.Get().(*[]T); ok && cap(*kept) >= n {
		return (*kept)[:n]
	}
	return make([]T, n)
}

// Give keeps a slice for Take, and clears it. The caller must hold the only reference, and all elements that were written since Take must be
// within the slice's length.
func (p *Pool[T]) Give(s []T) {
	if cap(s) == 0 || cap(s) > elementsMax {
		return
	}
	clear(s)
	p.kept.Put(&s)
}

package queue

import (
	"container/heap"
	"math"
)

// timed is an element of a deadlines.
type timed interface {
	comparable
	deadlineMs() int64
	// place points to the element's position in the heap; -1 if it is not in the heap. Only the
	// heap changes it.
	place() *int
}

// deadlines is a heap of elements, ordered by deadline. Each element stores its position in the
// heap, so that it can be moved or removed in O(log n).
type deadlines[T timed] struct{ h timedHeap[T] }

// set adds v. If v is already in the heap, set moves it to the position of its new deadline.
func (d *deadlines[T]) set(v T) {
	if i := *v.place(); i >= 0 {
		heap.Fix(&d.h, i)
		return
	}
	heap.Push(&d.h, v)
}

func (d *deadlines[T]) remove(v T) {
	if i := *v.place(); i >= 0 {
		heap.Remove(&d.h, i)
	}
}

func (d *deadlines[T]) next() (v T, ok bool) {
	if len(d.h) == 0 {
		return v, false
	}
	return d.h[0], true
}

// nextMs returns the earliest deadline, or math.MaxInt64 if the heap is empty.
func (d *deadlines[T]) nextMs() int64 {
	if v, ok := d.next(); ok {
		return v.deadlineMs()
	}
	return math.MaxInt64
}

type timedHeap[T timed] []T

func (h timedHeap[T]) Len() int           { return len(h) }
func (h timedHeap[T]) Less(i, j int) bool { return h[i].deadlineMs() < h[j].deadlineMs() }

func (h timedHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	*h[i].place(), *h[j].place() = i, j
}

func (h *timedHeap[T]) Push(x any) {
	v := x.(T) // only set pushes, and it pushes a T
	*v.place() = len(*h)
	*h = append(*h, v)
}

func (h *timedHeap[T]) Pop() any {
	last := len(*h) - 1
	v := (*h)[last]
	var zero T
	(*h)[last] = zero
	*h = (*h)[:last]
	*v.place() = -1
	return v
}

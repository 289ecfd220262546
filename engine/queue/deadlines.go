package queue

import "container/heap"

// timed is something with a deadline that a deadlines holds.
type timed interface {
	comparable
	deadlineMs() int64
	// place is where the deadlines keeps the element's position; -1 when it is not in.
	place() *int
}

// deadlines is a heap of elements by deadline in which each knows its place, so that it can be
// moved or taken out.
type deadlines[T timed] struct{ h timedHeap[T] }

// set puts v in, or moves it after its deadline changed.
func (d *deadlines[T]) set(v T) {
	if i := *v.place(); i >= 0 {
		heap.Fix(&d.h, i)
		return
	}
	heap.Push(&d.h, v)
}

// remove takes v out, if it is in.
func (d *deadlines[T]) remove(v T) {
	if i := *v.place(); i >= 0 {
		heap.Remove(&d.h, i)
	}
}

// next returns the element with the earliest deadline.
func (d *deadlines[T]) next() (v T, ok bool) {
	if len(d.h) == 0 {
		return v, false
	}
	return d.h[0], true
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

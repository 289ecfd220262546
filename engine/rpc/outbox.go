package rpc

import (
	"sync"

	"github.com/pronybench/prony/engine/internal/signal"
)

// outbox contains the items to send on one stream. The client's frames in flight and its credits
// limit the number of items.
type outbox[T any] struct {
	wake chan struct{} // contains an element when items may be waiting

	mu    sync.Mutex
	items []T
}

func newOutbox[T any]() *outbox[T] { return &outbox[T]{wake: make(chan struct{}, 1)} }

func (o *outbox[T]) put(v ...T) {
	o.mu.Lock()
	first := len(o.items) == 0
	o.items = append(o.items, v...)
	o.mu.Unlock()
	if first {
		signal.Send(o.wake)
	}
}

func (o *outbox[T]) empty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.items) == 0
}

// take appends all items to the slice into, empties the outbox and returns the slice.
func (o *outbox[T]) take(into []T) []T {
	o.mu.Lock()
	defer o.mu.Unlock()
	into = append(into, o.items...)
	clear(o.items)
	o.items = o.items[:0]
	return into
}

package rpc

import (
	"sync"

	"github.com/pronybench/prony/engine/internal/signal"
)

// outbox holds what waits to be sent on one stream. Its length is bounded by what the client may
// have unanswered: its frames in flight and its credits.
type outbox[T any] struct {
	wake chan struct{} // has an element when there may be something to take

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

// take moves everything to the end of into.
func (o *outbox[T]) take(into []T) []T {
	o.mu.Lock()
	defer o.mu.Unlock()
	into = append(into, o.items...)
	clear(o.items)
	o.items = o.items[:0]
	return into
}

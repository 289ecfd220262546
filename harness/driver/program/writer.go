package program

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
)

// waitingBytesMax bounds the number of pending bytes: while there are more, write waits.
const waitingBytesMax = 1 << 20

var errWriterClosed = errors.New("the connection is closed")

// writer writes frames in order. It combines pending frames into one write. It is safe for
// concurrent use.
type writer struct {
	to   io.Writer
	over chan struct{} // closed when the writing goroutine ends

	mu      sync.Mutex
	changed sync.Cond // signalled when waiting or failed changes
	waiting []byte
	failed  error // reason why further frames are rejected
}

// newWriter starts a writer. Its goroutine ends after close or after the first write that fails.
func newWriter(to io.Writer) *writer {
	w := &writer{to: to, over: make(chan struct{})}
	w.changed.L = &w.mu
	go w.run()
	return w
}

// write waits until there is room for a frame, and then queues a copy of it.
func (w *writer) write(ctx context.Context, frame []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) > waitingBytesMax && w.failed == nil {
		stop := context.AfterFunc(ctx, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.changed.Broadcast()
		})
		defer stop()
		for len(w.waiting) > waitingBytesMax && w.failed == nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			w.changed.Wait()
		}
	}
	if w.failed == nil {
		w.waiting = append(w.waiting, frame...)
		w.changed.Broadcast()
	}
	return w.failed
}

// close makes write reject further frames. It returns when all pending frames are written, or when
// a write has failed.
func (w *writer) close() {
	w.fail(errWriterClosed)
	<-w.over
}

func (w *writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = err
	}
	w.changed.Broadcast()
}

func (w *writer) run() {
	defer close(w.over)
	var taken []byte
	for last := false; !last; {
		w.mu.Lock()
		for len(w.waiting) == 0 && w.failed == nil {
			w.changed.Wait()
		}
		w.mu.Unlock()
		runtime.Gosched() // lets other goroutines add frames to this write
		w.mu.Lock()
		taken, w.waiting = w.waiting, taken[:0]
		last = w.failed != nil
		w.changed.Broadcast()
		w.mu.Unlock()
		if len(taken) == 0 {
			continue
		}
		if _, err := w.to.Write(taken); err != nil {
			w.fail(err)
			return
		}
	}
}

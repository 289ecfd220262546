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
	wake chan struct{} // contains an element while the writing goroutine has work
	over chan struct{} // closed when the writing goroutine ends

	mu      sync.Mutex
	room    sync.Cond // signalled when waiting becomes shorter and when failed is set
	waiting []byte
	failed  error // reason why further frames are rejected
}

// newWriter starts a writer. Its goroutine ends after close or after the first write that fails.
func newWriter(to io.Writer) *writer {
	w := &writer{to: to, wake: make(chan struct{}, 1), over: make(chan struct{})}
	w.room.L = &w.mu
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
			w.room.Broadcast()
		})
		defer stop()
		for len(w.waiting) > waitingBytesMax && w.failed == nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			w.room.Wait()
		}
	}
	if w.failed != nil {
		return w.failed
	}
	if w.waiting = append(w.waiting, frame...); len(w.waiting) == len(frame) {
		w.wake <- struct{}{} // no frame was pending, so the channel is empty
	}
	return nil
}

// close makes write reject further frames. It returns when all pending frames are written, or when
// a write has failed.
func (w *writer) close() {
	w.mu.Lock()
	if w.failed == nil {
		w.failed = errWriterClosed
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	w.room.Broadcast()
	w.mu.Unlock()
	<-w.over
}

func (w *writer) run() {
	defer close(w.over)
	var taken []byte
	for {
		<-w.wake
		runtime.Gosched() // lets other goroutines add frames to this write
		w.mu.Lock()
		taken, w.waiting = w.waiting, taken[:0]
		last := w.failed != nil
		w.room.Broadcast()
		w.mu.Unlock()
		if len(taken) > 0 {
			if _, err := w.to.Write(taken); err != nil {
				w.fail(err)
				return
			}
		}
		if last {
			return
		}
	}
}

func (w *writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = err
	}
	w.waiting = nil
	w.room.Broadcast()
}

package program

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
)

// waitingBytesMax is from how many waiting bytes on a writer takes no more.
const waitingBytesMax = 1 << 20

var errWriterClosed = errors.New("the connection is closed")

// writer writes frames in the order in which they come, those that wait in one write. Its methods may be called from any goroutine.
type writer struct {
	to   io.Writer
	wake chan struct{} // has an element while the writing goroutine has work
	over chan struct{} // closed at the end of the writing goroutine

	mu      sync.Mutex
	room    sync.Cond // signalled when waiting shrinks, and after failed was set
	waiting []byte
	failed  error // why no frame is taken any more
}

// newWriter starts a writer, which ends after close or the first write that fails.
func newWriter(to io.Writer) *writer {
	w := &writer{to: to, wake: make(chan struct{}, 1), over: make(chan struct{})}
	w.room.L = &w.mu
	go w.run()
	return w
}

// write takes a frame, as soon as there is room for it. It copies the frame.
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
		w.wake <- struct{}{} // nothing waited, so that the channel is empty
	}
	return nil
}

// close takes no more frames, and returns when those that wait are written, or a write has failed.
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
		runtime.Gosched() // frames of others that are about to come go with the first one
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

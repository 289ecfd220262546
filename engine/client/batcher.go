package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/pronybench/prony/engine/queuepb"
)

// framesMax is how many frames of a session are on their way at once. What is called meanwhile waits and
// goes out together; more frames would be smaller ones.
const framesMax = 2

// call is one caller's items, all of the same frame.
type call[T any] struct {
	items  []T
	bytes  int
	errs   []error       // one for each item, nil where accepted
	ids    []string      // of accepted tasks, for a producer
	failed error         // the outcome of all items is unknown, or none was sent
	done   chan struct{} // has an element once the call is resolved
}

// batcher sends calls in frames and resolves them when their answers come. One goroutine sends; the
// session's receiving goroutine resolves.
type batcher[T any] struct {
	send func(frame uint64, items []T) error
	idle sync.Pool     // of *call[T] that are resolved and read
	wake chan struct{} // has an element when the sender may have something to do

	mu      sync.Mutex
	waiting []*call[T]
	extra   bool // send a frame even if no call waits
	frames  map[uint64][]*call[T]
	next    uint64
	err     error // why the session ended
	closing bool
}

func newBatcher[T any](send func(uint64, []T) error) *batcher[T] {
	return &batcher[T]{send: send, wake: make(chan struct{}, 1), frames: map[uint64][]*call[T]{}}
}

// do sends items of so many bytes and waits for their answers. errs is nil if all were accepted. When
// ctx ends first, their outcome is unknown. Items that no frame could carry are refused here: sending them would
// end the session, and everybody else's calls with it.
func (b *batcher[T]) do(ctx context.Context, items []T, bytes int) (ids []string, errs []error, err error) {
	if bytes > frameBytesMax {
		return nil, nil, fmt.Errorf("%w: %d bytes in one call: send at most %d", ErrInvalidArgument, bytes, frameBytesMax)
	}
	c, ok := b.idle.Get().(*call[T])
	if !ok {
		c = &call[T]{done: make(chan struct{}, 1)}
	}
	c.items, c.bytes = items, bytes
	b.mu.Lock()
	if b.err != nil || b.closing {
		defer b.mu.Unlock()
		if b.err != nil {
			return nil, nil, b.err
		}
		return nil, nil, ErrClosed
	}
	b.waiting = append(b.waiting, c)
	first := len(b.waiting) == 1
	b.mu.Unlock()
	if first {
		b.signal()
	}
	select {
	case <-c.done:
		ids, errs, err = c.ids, c.errs, c.failed
		*c = call[T]{done: c.done}
		b.idle.Put(c)
		return ids, errs, err
	case <-ctx.Done(): // c may still be resolved: it must not be read any more
		b.withdraw(c)
		return nil, nil, unknownOutcome(ctx.Err())
	}
}

func (b *batcher[T]) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// flush asks for a frame even if no call waits.
func (b *batcher[T]) flush() {
	b.mu.Lock()
	b.extra = true
	b.mu.Unlock()
	b.signal()
}

// run is the sending goroutine. It returns when the session ended, or is closing and all calls went out.
func (b *batcher[T]) run() error {
	var items []T
	for range b.wake {
		runtime.Gosched() // let callers that are about to call join the frame
		for {
			var frame uint64
			var what taken
			frame, items, what = b.take(items[:0])
			if what == takeEnd {
				return nil
			}
			if what == takeNothing {
				break
			}
			if err := b.send(frame, items); err != nil {
				if errors.Is(err, io.EOF) {
					return nil // the receiver knows why
				}
				return err
			}
			clear(items)
		}
	}
	return nil
}

// taken is what take found.
type taken int

const (
	takeFrame   taken = iota
	takeNothing       // to send now
	takeEnd           // the session ended, or is closing and everything went out
)

// take moves the calls of the next frame out of waiting, and appends their items to into: once the lock is
// free a call may be resolved, and is its caller's again.
func (b *batcher[T]) take(into []T) (frame uint64, items []T, what taken) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return 0, into, takeEnd
	}
	if len(b.frames) >= framesMax {
		return 0, into, takeNothing // an answer signals
	}
	n, bytes, count := 0, 0, 0
	for _, c := range b.waiting {
		if n > 0 && (count+len(c.items) > frameTasksMax || bytes+c.bytes > frameBytesMax) {
			break
		}
		n++
		count += len(c.items)
		bytes += c.bytes
	}
	if n == 0 && !b.extra {
		if b.closing {
			return 0, into, takeEnd
		}
		return 0, into, takeNothing
	}
	b.extra = false
	calls := make([]*call[T], n)
	copy(calls, b.waiting)
	for _, c := range calls {
		into = append(into, c.items...)
	}
	b.waiting = append(b.waiting[:0], b.waiting[n:]...)
	clear(b.waiting[len(b.waiting):cap(b.waiting)])
	b.next++
	if n > 0 {
		b.frames[b.next] = calls
	}
	return b.next, into, takeFrame
}

// resolve ends the calls of a frame.
func (b *batcher[T]) resolve(frame uint64, ids []string, errs []*queuepb.ItemError) {
	b.mu.Lock()
	calls := b.frames[frame]
	delete(b.frames, frame)
	more := len(b.waiting) > 0 || b.extra || b.closing
	b.mu.Unlock()
	if more {
		b.signal()
	}
	base := 0
	for _, c := range calls {
		n := len(c.items)
		if ids != nil && base+n <= len(ids) {
			c.ids = ids[base : base+n]
		}
		for _, e := range errs {
			if i := int(e.GetIndex()) - base; i >= 0 && i < n {
				if c.errs == nil {
					c.errs = make([]error, n)
				}
				c.errs[i] = itemError(e)
			}
		}
		base += n
		c.done <- struct{}{}
	}
}

// withdraw takes a call out that did not go out yet: callers that give up must not pile up.
func (b *batcher[T]) withdraw(c *call[T]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, c); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
}

// fail ends every call: those on their way and those that wait.
func (b *batcher[T]) fail(err error) {
	b.mu.Lock()
	b.err = err
	calls := b.waiting
	b.waiting = nil
	for _, onTheirWay := range b.frames {
		calls = append(calls, onTheirWay...)
	}
	clear(b.frames)
	b.mu.Unlock()
	b.signal()
	for _, c := range calls {
		c.failed = err
		c.done <- struct{}{}
	}
}

// cause is why the session ended.
func (b *batcher[T]) cause() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// close lets the calls that wait go out and refuses further ones.
func (b *batcher[T]) close() {
	b.mu.Lock()
	b.closing = true
	b.mu.Unlock()
	b.signal()
}

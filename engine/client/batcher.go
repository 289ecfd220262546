package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/wire"
)

// call contains the items of one caller's call. All of them are sent in the same frame.
type call[T any] struct {
	items  []T
	count  int  // number of items
	one    [1]T // the backing array of items in a call with one item
	how    settling
	bytes  int
	errs   []error       // one per item, nil for an accepted item; nil if all were accepted
	ids    []string      // ids of the accepted tasks; used by producers
	failed error         // set if the outcome of all items is unknown or no item was sent
	done   chan struct{} // contains an element once the call is resolved; nil if no caller waits

	// covered is true if the caller need not wait for its context, because the context cannot end
	// or the session watches it.
	covered bool
	watched bool // true if the session watches the caller's context
}

// frame contains the calls that are sent together.
type frame[T any] struct {
	number uint64
	calls  []*call[T]
}

// batcher sends calls in frames and resolves them when their answers arrive. One goroutine sends;
// the session's receiving goroutine resolves. Once a caller's call has returned, the batcher no
// longer reads its items.
type batcher[T any] struct {
	begin  func(f *wire.Frame, number uint64)
	encode func(f *wire.Frame, c *call[T]) error
	send   func(*wire.Frame) error
	// answered is called with each frame's calls before they are resolved. It may be nil.
	answered  func(calls []*call[T])
	framesMax int

	idle sync.Pool     // calls (*call[T]) for reuse
	wake chan struct{} // contains an element when the sender may have work

	encoding sync.Mutex // held while calls are taken and encoded; acquired before mu

	mu      sync.Mutex
	waiting []*call[T]
	extra   bool // true if a frame should be sent even if no call waits
	frames  []frame[T]
	spare   [][]*call[T] // lists of calls for reuse
	next    uint64
	err     error // the reason why the link ended, or nil
	closing bool
	watch   watch
	over    chan struct{} // closed when the link has ended
}

func (b *batcher[T]) setUp() *batcher[T] {
	b.wake, b.over = make(chan struct{}, 1), make(chan struct{})
	return b
}

func (b *batcher[T]) call() *call[T] {
	if c, ok := b.idle.Get().(*call[T]); ok {
		return c
	}
	return &call[T]{done: make(chan struct{}, 1)}
}

func (b *batcher[T]) single(item T, bytes int) *call[T] {
	c := b.call()
	c.one[0] = item
	c.items, c.bytes = c.one[:], bytes
	return c
}

// keep makes a resolved call available for reuse.
func (b *batcher[T]) keep(c *call[T]) {
	*c = call[T]{done: c.done}
	b.idle.Put(c)
}

// do sends a call and waits for the answers to its items. The caller then reads c.ids and c.errs,
// and must call keep. If ctx ends first, the outcome is unknown. do refuses items that are too
// large for a frame: if it sent them, the server would end the session, and with it all other
// calls.
func (b *batcher[T]) do(ctx context.Context, c *call[T]) error {
	if err := b.enter(ctx, c); err != nil {
		return err
	}
	return b.wait(ctx, c)
}

// enter is the first half of do: it adds the call to the waiting ones. If it returns an error, the
// call is not sent.
func (b *batcher[T]) enter(ctx context.Context, c *call[T]) error {
	if c.bytes > frameBytesMax {
		return fmt.Errorf("%w: %d bytes in one call: send at most %d", ErrInvalidArgument, c.bytes, frameBytesMax)
	}
	c.count = len(c.items)
	b.mu.Lock()
	if b.err != nil || b.closing {
		defer b.mu.Unlock()
		if b.err != nil {
			return undone(b.err)
		}
		return ErrClosed
	}
	watched := b.watch.covers(ctx, b.over, b.ended)
	c.covered, c.watched = watched, watched && ctx.Done() != nil
	b.waiting = append(b.waiting, c)
	first := len(b.waiting) == 1
	b.mu.Unlock()
	if first {
		signal.Send(b.wake)
	}
	return nil
}

// wait is the second half of do: it waits for the outcome.
func (b *batcher[T]) wait(ctx context.Context, c *call[T]) error {
	if c.covered {
		<-c.done
		return c.failed
	}
	select {
	case <-c.done:
		return c.failed
	case <-ctx.Done():
		if b.withdraw(c) {
			return unknownOutcome(ctx.Err())
		}
		<-c.done // the answer arrived before the call could be withdrawn
		return c.failed
	}
}

// flush makes the sender send a frame even if no call waits.
func (b *batcher[T]) flush() {
	b.mu.Lock()
	b.extra = true
	b.mu.Unlock()
	signal.Send(b.wake)
}

// run is the sending goroutine. It returns when the session has ended, or when the session is
// closing and all calls were sent.
func (b *batcher[T]) run() error {
	var f wire.Frame
	for range b.wake {
		runtime.Gosched() // so that more callers can join the frame
		for {
			what, err := b.take(&f)
			if err != nil {
				return err
			}
			if what == takeEnd {
				return nil
			}
			if what == takeNothing {
				break
			}
			if err := b.send(&f); err != nil {
				if errors.Is(err, io.EOF) {
					return nil // the receiving goroutine reports the reason
				}
				return err
			}
		}
	}
	return nil
}

type taken int

const (
	takeFrame   taken = iota
	takeNothing       // nothing to send now
	takeEnd           // nothing will be sent any more: the session has ended or is closing
)

// itemBytes is the approximate size in bytes of an item's message, without its payload and texts.
const itemBytes = 48

// take encodes the next frame, if there is one.
func (b *batcher[T]) take(into *wire.Frame) (taken, error) {
	b.encoding.Lock()
	defer b.encoding.Unlock()
	next, bytes, what := b.takeCalls()
	if what != takeFrame {
		return what, nil
	}
	into.Expect(bytes + itemBytes)
	b.begin(into, next.number)
	for _, c := range next.calls {
		if err := b.encode(into, c); err != nil {
			return takeFrame, err
		}
	}
	return takeFrame, nil
}

// takeCalls removes the calls of the next frame from waiting.
func (b *batcher[T]) takeCalls() (next frame[T], bytes int, what taken) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return next, 0, takeEnd
	}
	if len(b.frames) >= b.framesMax {
		return next, 0, takeNothing // an answer will wake the sender
	}
	n, payloads, count := 0, 0, 0
	for _, c := range b.waiting {
		if n > 0 && (count+c.count > frameTasksMax || payloads+c.bytes > frameBytesMax) {
			break
		}
		n++
		count += c.count
		payloads += c.bytes
	}
	if n == 0 && !b.extra {
		if b.closing {
			return next, 0, takeEnd
		}
		return next, 0, takeNothing
	}
	b.extra = false
	b.next++
	next.number = b.next
	if n > 0 {
		if last := len(b.spare) - 1; last >= 0 {
			next.calls, b.spare = b.spare[last], b.spare[:last]
		}
		next.calls = append(next.calls, b.waiting[:n]...)
		b.waiting = slices.Delete(b.waiting, 0, n)
		b.frames = append(b.frames, next)
	}
	return next, payloads + count*itemBytes, takeFrame
}

// resolve ends the calls of a frame with the outcomes in its answer.
func (b *batcher[T]) resolve(number uint64, ids []string, errs []*queuepb.ItemError) {
	b.mu.Lock()
	var calls []*call[T]
	if i := slices.IndexFunc(b.frames, func(f frame[T]) bool { return f.number == number }); i >= 0 {
		calls = b.frames[i].calls
		b.frames = slices.Delete(b.frames, i, i+1)
	}
	more := len(b.waiting) > 0 || b.extra || b.closing
	b.mu.Unlock()
	if more {
		signal.Send(b.wake)
	}
	if !answers(calls, ids, errs) {
		finish(calls, unknownOutcome(errNoAnswer))
		b.reuse(calls)
		return
	}
	if len(errs) > 0 {
		refuse(calls, errs)
	}
	if ids != nil {
		base := 0
		for _, c := range calls {
			end := base + c.count
			c.ids = ids[base:end:end]
			base = end
		}
	}
	if b.answered != nil {
		b.answered(calls)
	}
	for _, c := range calls {
		if c.done != nil {
			c.done <- struct{}{}
		}
	}
	b.reuse(calls)
}

// answers reports whether an answer matches a frame with these calls: each error must have the
// index of an item, and ids must be nil or have one element for each item. An answer that does not
// match confirms no item.
func answers[T any](calls []*call[T], ids []string, errs []*queuepb.ItemError) bool {
	if ids == nil && len(errs) == 0 {
		return true
	}
	items := 0
	for _, c := range calls {
		items += c.count
	}
	outOfRange := func(e *queuepb.ItemError) bool { return int64(e.GetIndex()) >= int64(items) }
	return (ids == nil || len(ids) == items) && !slices.ContainsFunc(errs, outOfRange)
}

// refuse assigns each error to the call that contains its item.
func refuse[T any](calls []*call[T], errs []*queuepb.ItemError) {
	ends, end := make([]int, len(calls)), 0
	for i, c := range calls {
		end += c.count
		ends[i] = end
	}
	for _, e := range errs {
		place := int(e.GetIndex())
		i, _ := slices.BinarySearch(ends, place+1)
		c := calls[i]
		if c.errs == nil {
			c.errs = make([]error, c.count)
		}
		c.errs[place-(ends[i]-c.count)] = itemError(e)
	}
}

// callsKeptMax is the maximum capacity of a list of calls that is reused for another frame.
const callsKeptMax = 256

func (b *batcher[T]) reuse(calls []*call[T]) {
	if cap(calls) == 0 || cap(calls) > callsKeptMax {
		return
	}
	clear(calls)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.spare) < b.framesMax {
		b.spare = append(b.spare, calls[:0])
	}
}

// withdraw removes a call whose caller stops waiting, so that such calls do not accumulate. While
// the call is being encoded, withdraw waits. It returns false if the call is already resolved, or
// is about to be.
func (b *batcher[T]) withdraw(c *call[T]) bool {
	b.encoding.Lock()
	defer b.encoding.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, c); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
		return true
	}
	for _, f := range b.frames {
		if i := slices.Index(f.calls, c); i >= 0 {
			f.calls[i] = &call[T]{count: c.count} // the answer still has outcomes for its items
			return true
		}
	}
	return false
}

// ended is called when the watched context has ended. It withdraws all calls with that context.
func (b *batcher[T]) ended(ctx context.Context) {
	b.encoding.Lock()
	b.mu.Lock()
	b.watch.forget()
	var calls []*call[T]
	out := func(c *call[T]) bool {
		if c.watched {
			calls = append(calls, c)
		}
		return c.watched
	}
	b.waiting = slices.DeleteFunc(b.waiting, out)
	for _, f := range b.frames {
		for i, c := range f.calls {
			if out(c) {
				f.calls[i] = &call[T]{count: c.count}
			}
		}
	}
	b.mu.Unlock()
	b.encoding.Unlock()
	finish(calls, unknownOutcome(ctx.Err()))
}

// finish ends calls whose outcome is unknown with an error.
func finish[T any](calls []*call[T], err error) {
	for _, c := range calls {
		if c.done != nil {
			c.failed = err
			c.done <- struct{}{}
		}
	}
}

// fail ends every call. A call that was not sent gets an error that is ErrUnavailable (see undone).
// A call that was sent has an unknown outcome, unless err means that it had no effect.
func (b *batcher[T]) fail(err error) {
	b.encoding.Lock()
	b.mu.Lock()
	if b.err == nil {
		close(b.over)
	}
	b.err = err
	waiting, frames := b.waiting, b.frames
	b.waiting, b.frames = nil, nil
	b.mu.Unlock()
	b.encoding.Unlock()
	signal.Send(b.wake)
	finish(waiting, undone(err))
	if !isUndone(err) {
		err = unknownOutcome(err)
	}
	for _, f := range frames {
		finish(f.calls, err)
	}
}

func (b *batcher[T]) cause() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// close makes the batcher send the waiting calls and refuse later ones.
func (b *batcher[T]) close() {
	b.mu.Lock()
	b.closing = true
	b.mu.Unlock()
	signal.Send(b.wake)
}

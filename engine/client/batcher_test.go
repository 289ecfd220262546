package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/internal/waittest"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = waittest.Most

type sentFrame struct {
	frame uint64
	items []int
}

// testBatcher returns a batcher that sends to a function; the test must run it.
func testBatcher(send func(sentFrame) error) *batcher[int] {
	var going sentFrame
	b := &batcher[int]{
		framesMax: testFramesMax,
		begin:     func(_ *wire.Frame, number uint64) { going = sentFrame{frame: number} },
		encode: func(_ *wire.Frame, c *call[int]) error {
			going.items = append(going.items, c.items...)
			return nil
		},
		send: func(*wire.Frame) error { return send(going) },
	}
	return b.setUp()
}

const testFramesMax = 2

func sendNothing(sentFrame) error { return nil }

// newTestBatcher returns a running batcher and the frames that it sends.
func newTestBatcher(t *testing.T) (*batcher[int], chan sentFrame) {
	sent := make(chan sentFrame, 10_000)
	b := testBatcher(func(f sentFrame) error {
		sent <- f
		return nil
	})
	ran := make(chan error, 1)
	go func() { ran <- b.run() }()
	t.Cleanup(func() {
		b.fail(ErrClosed)
		require.NoError(t, <-ran)
	})
	return b, sent
}

// enter sends items and returns their outcome.
func enter(ctx context.Context, b *batcher[int], items ...int) (ids []string, errs []error, err error) {
	c := b.call()
	c.items = items
	defer b.keep(c)
	if err := b.do(ctx, c); err != nil {
		return nil, nil, err
	}
	return c.ids, c.errs, nil
}

func next(t *testing.T, sent chan sentFrame) sentFrame {
	t.Helper()
	select {
	case f := <-sent:
		return f
	case <-time.After(patience):
		t.Fatal("no frame was sent")
		return sentFrame{}
	}
}

func (b *batcher[T]) waits() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// fill makes testFramesMax frames active.
func fill(t *testing.T, b *batcher[int], sent chan sentFrame, calls *sync.WaitGroup) []sentFrame {
	t.Helper()
	var frames []sentFrame
	for i := range testFramesMax {
		calls.Go(func() { _, _, _ = enter(context.Background(), b, i) })
		frames = append(frames, next(t, sent))
	}
	return frames
}

func TestWhatWaitsGoesOutTogether(t *testing.T) {
	const callers = 500
	b, sent := newTestBatcher(t)
	var calls sync.WaitGroup
	first := fill(t, b, sent, &calls)
	for i := range callers {
		calls.Go(func() {
			ids, errs, err := enter(context.Background(), b, 100+i)
			assert.NoError(t, err)
			assert.Nil(t, errs)
			assert.Equal(t, []string{fmt.Sprint(100 + i)}, ids, "each caller gets its own answer")
		})
	}
	require.Eventually(t, func() bool { return b.waits() == callers }, patience, time.Millisecond)
	assert.Empty(t, sent, "at most testFramesMax frames are active")
	b.resolve(first[0].frame, nil, nil)
	f := next(t, sent)
	assert.Len(t, f.items, callers)
	ids := make([]string, callers)
	for i, item := range f.items {
		ids[i] = fmt.Sprint(item)
	}
	b.resolve(f.frame, ids, nil)
	for _, f := range first[1:] {
		b.resolve(f.frame, nil, nil)
	}
	calls.Wait()
	assert.Empty(t, sent)
}

func TestErrorsReachTheCallersTheyAreFor(t *testing.T) {
	b, sent := newTestBatcher(t)
	var calls sync.WaitGroup
	first := fill(t, b, sent, &calls)
	for i := range 10 {
		calls.Go(func() {
			_, errs, err := enter(context.Background(), b, i, i, i)
			assert.NoError(t, err)
			if i != 4 {
				assert.Nil(t, errs)
				return
			}
			assert.NoError(t, errs[0])
			assert.ErrorIs(t, errs[1], ErrStaleToken)
			assert.NoError(t, errs[2])
		})
	}
	require.Eventually(t, func() bool { return b.waits() == 10 }, patience, time.Millisecond)
	b.resolve(first[0].frame, nil, nil)
	f := next(t, sent)
	for place, item := range f.items {
		if item == 4 {
			b.resolve(f.frame, nil, []*queuepb.ItemError{{Index: uint32(place) + 1, Code: queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN}})
			break
		}
	}
	for _, f := range first[1:] {
		b.resolve(f.frame, nil, nil)
	}
	calls.Wait()
}

// TestFramesAreBounded makes calls of various sizes wait, and checks the frames in which they are
// sent.
func TestFramesAreBounded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := testBatcher(sendNothing)
		sizes := rapid.SliceOfN(rapid.IntRange(1, frameTasksMax), 1, 50).Draw(r, "items of each call")
		bytes := rapid.SliceOfN(rapid.IntRange(0, frameBytesMax), len(sizes), len(sizes)).Draw(r, "bytes of each call")
		want := 0
		for i, n := range sizes {
			b.waiting = append(b.waiting, &call[int]{items: make([]int, n), count: n, bytes: bytes[i], done: make(chan struct{}, 1)})
			want += n
		}
		got := 0
		for {
			next, _, what := b.takeCalls()
			if what == takeNothing && got == want {
				return
			}
			if what == takeNothing { // full: answer the oldest
				b.resolve(b.frames[0].number, nil, nil)
				continue
			}
			size, items := 0, 0
			for _, c := range next.calls {
				size += c.bytes
				items += len(c.items)
			}
			if items > frameTasksMax || size > frameBytesMax || len(b.frames) > testFramesMax {
				r.Fatalf("frame %d of %d has %d items and %d bytes", next.number, len(b.frames), items, size)
			}
			got += items
		}
	})
}

func TestAFlushGoesOutWhenThereIsRoomAgain(t *testing.T) {
	b := testBatcher(sendNothing)
	for range testFramesMax {
		b.waiting = append(b.waiting, &call[int]{items: make([]int, frameTasksMax), count: frameTasksMax, done: make(chan struct{}, 1)})
	}
	for range testFramesMax {
		_, _, what := b.takeCalls()
		require.Equal(t, takeFrame, what)
	}
	b.flush()
	<-b.wake
	_, _, what := b.takeCalls()
	require.Equal(t, takeNothing, what, "there is no room")
	b.resolve(1, nil, nil)
	require.Len(t, b.wake, 1, "the sender must look again")
	next, _, what := b.takeCalls()
	require.Equal(t, takeFrame, what)
	assert.EqualValues(t, testFramesMax+1, next.number)
	assert.Empty(t, next.calls)
}

func TestCallersThatGiveUpDoNotPileUp(t *testing.T) {
	b, sent := newTestBatcher(t)
	var calls sync.WaitGroup
	first := fill(t, b, sent, &calls)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 100 {
		_, _, err := enter(ctx, b, 7)
		require.ErrorIs(t, err, ErrUnknownOutcome)
		require.ErrorIs(t, err, context.Canceled)
	}
	assert.Zero(t, b.waits())
	for _, f := range first {
		b.resolve(f.frame, nil, nil)
	}
	calls.Wait()
	assert.Empty(t, sent, "a call that gave up before it was sent is never sent")
}

func TestCloseSendsWhatWaitsAndRefusesMore(t *testing.T) {
	sent := make(chan sentFrame, 100)
	b := testBatcher(func(f sentFrame) error {
		sent <- f
		return nil
	})
	ran := make(chan error, 1)
	go func() { ran <- b.run() }()
	var calls sync.WaitGroup
	first := fill(t, b, sent, &calls)
	calls.Go(func() {
		_, _, err := enter(context.Background(), b, 9)
		assert.NoError(t, err)
	})
	require.Eventually(t, func() bool { return b.waits() == 1 }, patience, time.Millisecond)
	b.close()
	_, _, err := enter(context.Background(), b, 1)
	require.ErrorIs(t, err, ErrClosed)
	b.resolve(first[0].frame, nil, nil)
	last := next(t, sent)
	assert.Equal(t, []int{9}, last.items)
	for _, f := range append(first[1:], last) {
		b.resolve(f.frame, nil, nil)
	}
	calls.Wait()
	require.NoError(t, <-ran)
}

func TestASendThatFailsEndsTheRun(t *testing.T) {
	for _, broken := range []error{io.EOF, errors.New("marshal")} {
		b := testBatcher(func(sentFrame) error { return broken })
		ran := make(chan error, 1)
		go func() { ran <- b.run() }()
		b.flush()
		if err := <-ran; errors.Is(broken, io.EOF) {
			require.NoError(t, err, "the receiver has the reason")
		} else {
			require.ErrorIs(t, err, broken)
		}
	}
}

func TestErrorsMatchTheirCodes(t *testing.T) {
	sentinels := map[queuepb.ErrorCode]error{
		queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT:   ErrInvalidArgument,
		queuepb.ErrorCode_ERROR_CODE_NOT_FOUND:          ErrNotFound,
		queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN:        ErrStaleToken,
		queuepb.ErrorCode_ERROR_CODE_CANCELLED:          ErrCancelled,
		queuepb.ErrorCode_ERROR_CODE_ALREADY_EXISTS:     ErrKeyTaken,
		queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED: ErrOverloaded,
		queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE:        ErrUnavailable,
		queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME:    ErrUnknownOutcome,
	}
	for code := range queuepb.ErrorCode_name {
		err := itemError(&queuepb.ItemError{Code: queuepb.ErrorCode(code), Field: "f", Message: "m", Reason: "disk"})
		assert.Contains(t, err.Error(), "m")
		var refused *Error
		if errors.As(err, &refused) {
			assert.Equal(t, "disk", refused.Reason)
		}
		for c, sentinel := range sentinels {
			if c == queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE && queuepb.ErrorCode(code) == queuepb.ErrorCode_ERROR_CODE_NOT_LEADER ||
				c == queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN && queuepb.ErrorCode(code) == queuepb.ErrorCode_ERROR_CODE_CANCELLED {
				assert.ErrorIs(t, err, sentinel)
				continue
			}
			assert.Equal(t, queuepb.ErrorCode(code) == c, errors.Is(err, sentinel), "%v", queuepb.ErrorCode(code))
		}
	}
	require.ErrorIs(t, unknownOutcome(nil), ErrUnknownOutcome)
}

// TestNothingIsReadOnceACallHasReturned lets calls give up while they are encoded, and then
// overwrites their items.
func TestNothingIsReadOnceACallHasReturned(t *testing.T) {
	var sum int
	b := testBatcher(sendNothing)
	b.framesMax = 1 << 30
	b.encode = func(_ *wire.Frame, c *call[int]) error {
		for _, item := range c.items {
			sum += item
		}
		return nil
	}
	ran := make(chan error, 1)
	go func() { ran <- b.run() }()
	items := make([]int, 1_000)
	for i := range 3_000 {
		ctx, cancel := context.WithCancel(context.Background())
		go cancel()
		_, _, err := enter(ctx, b, items...)
		require.ErrorIs(t, err, ErrUnknownOutcome)
		items[i%len(items)]++ // the race detector reports a read that still runs
	}
	left := make(chan error)
	go func() {
		_, _, err := enter(context.Background(), b, items...)
		left <- err
	}()
	b.fail(ErrClosed)
	require.ErrorIs(t, <-left, ErrClosed)
	items[0]++
	require.NoError(t, <-ran)
}

// An answer that does not match the items of its frame confirms no item.
func TestAnAnswerThatDoesNotFitItsFrameConfirmsNothing(t *testing.T) {
	beyond := []*queuepb.ItemError{{Index: 3, Code: queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN}}
	for name, c := range map[string]struct {
		ids  []string
		errs []*queuepb.ItemError
		fits bool
	}{
		"without ids":                 {fits: true},
		"with ids":                    {ids: []string{"a", "b", "c"}, fits: true},
		"with an error":               {errs: []*queuepb.ItemError{{Index: 2, Message: "third"}, {Index: 0, Message: "first"}}, fits: true},
		"with an index one too large": {errs: beyond},
		"with a huge index":           {errs: []*queuepb.ItemError{{Index: 1 << 31}}},
		"with ids and such an index":  {ids: []string{"a", "b", "c"}, errs: beyond},
		"with one id too few":         {ids: []string{"a", "b"}},
		"with one id too many":        {ids: []string{"a", "b", "c", "d"}},
	} {
		b := (&batcher[int]{framesMax: 1}).setUp()
		calls := []*call[int]{{count: 1, done: make(chan struct{}, 1)}, {count: 2, done: make(chan struct{}, 1)}}
		told := 0
		b.answered = func(calls []*call[int]) { told += len(calls) }
		b.frames = []frame[int]{{number: 1, calls: slices.Clone(calls)}}
		b.resolve(1, c.ids, c.errs)
		for _, c := range calls {
			<-c.done
		}
		if !c.fits {
			require.Zero(t, told, name)
			for _, call := range calls {
				require.ErrorIs(t, call.failed, ErrUnknownOutcome, name)
			}
			continue
		}
		require.Equal(t, 2, told, name)
		for _, call := range calls {
			require.NoError(t, call.failed, name)
		}
		if c.errs != nil {
			require.EqualError(t, calls[0].errs[0], "first")
			require.NoError(t, calls[1].errs[0])
			require.EqualError(t, calls[1].errs[1], "third")
		}
		if c.ids != nil {
			require.Equal(t, []string{"a"}, calls[0].ids)
			require.Equal(t, []string{"b", "c"}, calls[1].ids)
		}
	}
}

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queuepb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

type sentFrame struct {
	frame uint64
	items []int
}

// newTestBatcher returns a batcher that runs, and the frames it sends.
func newTestBatcher(t *testing.T) (*batcher[int], chan sentFrame) {
	sent := make(chan sentFrame, 10_000)
	b := newBatcher(func(frame uint64, items []int) error {
		sent <- sentFrame{frame, append([]int(nil), items...)}
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

func next(t *testing.T, sent chan sentFrame) sentFrame {
	t.Helper()
	select {
	case f := <-sent:
		return f
	case <-time.After(patience):
		t.Fatal("no frame came")
		return sentFrame{}
	}
}

func (b *batcher[T]) waits() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// fill puts framesMax frames on their way.
func fill(t *testing.T, b *batcher[int], sent chan sentFrame, calls *sync.WaitGroup) []sentFrame {
	t.Helper()
	var frames []sentFrame
	for i := range framesMax {
		calls.Go(func() { _, _, _ = b.do(context.Background(), []int{i}, 0) })
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
			ids, errs, err := b.do(context.Background(), []int{100 + i}, 0)
			assert.NoError(t, err)
			assert.Nil(t, errs)
			assert.Equal(t, []string{fmt.Sprint(100 + i)}, ids, "each caller gets its own answer")
		})
	}
	require.Eventually(t, func() bool { return b.waits() == callers }, patience, time.Millisecond)
	assert.Empty(t, sent, "no more than framesMax are on their way")
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
			_, errs, err := b.do(context.Background(), []int{i, i, i}, 0)
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

// TestFramesAreBounded makes calls of any size wait and looks at the frames they go out in.
func TestFramesAreBounded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := newBatcher(func(uint64, []int) error { return nil })
		sizes := rapid.SliceOfN(rapid.IntRange(1, frameTasksMax), 1, 50).Draw(r, "items of each call")
		bytes := rapid.SliceOfN(rapid.IntRange(0, frameBytesMax), len(sizes), len(sizes)).Draw(r, "bytes of each call")
		want := 0
		for i, n := range sizes {
			b.waiting = append(b.waiting, &call[int]{items: make([]int, n), bytes: bytes[i], done: make(chan struct{}, 1)})
			want += n
		}
		got := 0
		for {
			frame, items, what := b.take(nil)
			if what == takeNothing && got == want {
				return
			}
			if what == takeNothing { // full: answer the oldest
				for f := range b.frames {
					b.resolve(f, nil, nil)
					break
				}
				continue
			}
			size := 0
			for _, c := range b.frames[frame] {
				size += c.bytes
			}
			if len(items) > frameTasksMax || size > frameBytesMax || len(b.frames) > framesMax {
				r.Fatalf("frame %d of %d has %d items and %d bytes", frame, len(b.frames), len(items), size)
			}
			got += len(items)
		}
	})
}

func TestAFlushGoesOutWhenThereIsRoomAgain(t *testing.T) {
	b := newBatcher(func(uint64, []int) error { return nil })
	for range framesMax {
		b.waiting = append(b.waiting, &call[int]{items: make([]int, frameTasksMax), done: make(chan struct{}, 1)})
	}
	for range framesMax {
		_, _, what := b.take(nil)
		require.Equal(t, takeFrame, what)
	}
	b.flush()
	<-b.wake
	_, _, what := b.take(nil)
	require.Equal(t, takeNothing, what, "there is no room")
	b.resolve(1, nil, nil)
	require.Len(t, b.wake, 1, "the sender must look again")
	frame, calls, what := b.take(nil)
	require.Equal(t, takeFrame, what)
	assert.EqualValues(t, framesMax+1, frame)
	assert.Empty(t, calls)
}

func TestCallersThatGiveUpDoNotPileUp(t *testing.T) {
	b, sent := newTestBatcher(t)
	var calls sync.WaitGroup
	first := fill(t, b, sent, &calls)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 100 {
		_, _, err := b.do(ctx, []int{7}, 0)
		require.ErrorIs(t, err, ErrUnknownOutcome)
		require.ErrorIs(t, err, context.Canceled)
	}
	assert.Zero(t, b.waits())
	for _, f := range first {
		b.resolve(f.frame, nil, nil)
	}
	calls.Wait()
	assert.Empty(t, sent, "what was given up before it went out never goes out")
}

func TestCloseSendsWhatWaitsAndRefusesMore(t *testing.T) {
	sent := make(chan sentFrame, 100)
	b := newBatcher(func(frame uint64, items []int) error {
		sent <- sentFrame{frame, append([]int(nil), items...)}
		return nil
	})
	ran := make(chan error, 1)
	go func() { ran <- b.run() }()
	var calls sync.WaitGroup
	first := fill(t, b, sent, &calls)
	calls.Go(func() {
		_, _, err := b.do(context.Background(), []int{9}, 0)
		assert.NoError(t, err)
	})
	require.Eventually(t, func() bool { return b.waits() == 1 }, patience, time.Millisecond)
	b.close()
	_, _, err := b.do(context.Background(), []int{1}, 0)
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
		b := newBatcher(func(uint64, []int) error { return broken })
		ran := make(chan error, 1)
		go func() { ran <- b.run() }()
		b.flush()
		if err := <-ran; errors.Is(broken, io.EOF) {
			require.NoError(t, err, "the receiver knows why")
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
		queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED: ErrOverloaded,
		queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE:        ErrUnavailable,
	}
	for code := range queuepb.ErrorCode_name {
		err := itemError(&queuepb.ItemError{Code: queuepb.ErrorCode(code), Field: "f", Message: "m"})
		assert.Equal(t, "m", err.Error())
		for c, sentinel := range sentinels {
			assert.Equal(t, queuepb.ErrorCode(code) == c, errors.Is(err, sentinel), "%v", queuepb.ErrorCode(code))
		}
	}
	require.ErrorIs(t, unknownOutcome(nil), ErrUnknownOutcome)
}

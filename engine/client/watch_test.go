package client

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func (b *batcher[T]) watching() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.watch.watched != nil
}

// warm makes calls with a context until the session watches it.
func warm(t *testing.T, ctx context.Context, b *batcher[int], sent chan sentFrame) { //nolint:revive // t comes first in a test's helper
	t.Helper()
	for i := range watchAfter {
		require.False(t, b.watching(), "call %d", i)
		done := make(chan error)
		go func() {
			_, _, err := enter(ctx, b, i)
			done <- err
		}()
		b.resolve(next(t, sent).frame, []string{""}, nil)
		require.NoError(t, <-done)
	}
	require.True(t, b.watching())
}

// TestTheEndOfAWatchedContextReachesItsCallsOnly ends a watched context while its calls, and
// others, wait or are active.
func TestTheEndOfAWatchedContextReachesItsCallsOnly(t *testing.T) {
	const others = 20
	b, sent := newTestBatcher(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	warm(t, ctx, b, sent)

	var calls sync.WaitGroup
	gone := func(items ...int) {
		calls.Go(func() {
			_, _, err := enter(ctx, b, items...)
			assert.ErrorIs(t, err, ErrUnknownOutcome)
			assert.ErrorIs(t, err, context.Canceled)
		})
	}
	stays := func(item int) {
		calls.Go(func() {
			ids, _, err := enter(context.Background(), b, item)
			assert.NoError(t, err)
			assert.Equal(t, []string{fmt.Sprint(item)}, ids)
		})
	}
	first := fill(t, b, sent, &calls) // later calls wait
	for i := range others {
		gone(1_000+i, 1_000+i, 1_000+i)
		stays(i)
	}
	require.Eventually(t, func() bool { return b.waits() == 2*others }, patience, time.Millisecond)
	b.resolve(first[0].frame, nil, nil)
	onTheirWay := next(t, sent)
	for i := range others {
		gone(2_000 + i)
		stays(others + i)
	}
	require.Eventually(t, func() bool { return b.waits() == 2*others }, patience, time.Millisecond)
	cancel()
	require.Eventually(t, func() bool { return b.waits() == others && !b.watching() }, patience, time.Millisecond)

	b.resolve(first[1].frame, nil, nil)
	waited := next(t, sent)
	assert.Len(t, waited.items, others, "calls that gave up before they were sent are never sent")
	for _, f := range []sentFrame{onTheirWay, waited} {
		ids := make([]string, len(f.items))
		for i, item := range f.items {
			ids[i] = fmt.Sprint(item)
		}
		b.resolve(f.frame, ids, nil)
	}
	calls.Wait()
}

func TestAContextOfOneCallIsNotWatched(t *testing.T) {
	b, sent := newTestBatcher(t)
	for i := range 10 * watchAfter {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() {
			_, _, err := enter(ctx, b, i)
			done <- err
		}()
		b.resolve(next(t, sent).frame, []string{""}, nil)
		require.NoError(t, <-done)
		require.False(t, b.watching())
		cancel()
	}
}

// TestOneContextIsWatchedAtATime uses several contexts in turn.
func TestOneContextIsWatchedAtATime(t *testing.T) {
	b, sent := newTestBatcher(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	warm(t, ctx, b, sent)
	other, cancelOther := context.WithCancel(context.Background())
	defer cancelOther()
	for i := range 3 * watchAfter {
		done := make(chan error)
		go func() {
			_, _, err := enter(other, b, i)
			done <- err
		}()
		b.resolve(next(t, sent).frame, []string{""}, nil)
		require.NoError(t, <-done)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	require.True(t, b.watch.watched == ctx.Done(), "another context is watched instead")
}

func TestTheEndOfAWatchedContextReachesItsReceiversOnly(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	a := arrivals{max: 100, over: over}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for i := range watchAfter {
		go func() { a.put(numbered(i, 1)) }()
		got, err := a.receive(ctx)
		require.NoError(t, err)
		require.EqualValues(t, i, got.GetToken())
	}
	var receivers sync.WaitGroup
	for range 10 {
		receivers.Go(func() {
			_, err := a.receive(ctx)
			assert.ErrorIs(t, err, context.Canceled)
		})
		receivers.Go(func() {
			_, err := a.receive(context.Background())
			assert.NoError(t, err)
		})
	}
	require.Eventually(t, func() bool { return a.waits() == 20 }, patience, time.Millisecond)
	cancel()
	require.Eventually(t, func() bool { return a.waits() == 10 }, patience, time.Millisecond)
	require.True(t, a.put(numbered(0, 10)))
	receivers.Wait()
	_, err := a.receive(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

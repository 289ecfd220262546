package shard

import (
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

func TestInboxIsBounded(t *testing.T) {
	b := newInbox(load{tasks: 10, bytes: 1000})
	require.NoError(t, b.put(&change{}, load{tasks: 6}))
	require.NoError(t, b.put(&change{}, load{tasks: 4}))
	require.ErrorIs(t, b.put(&change{}, load{tasks: 1}), ErrOverloaded)
	require.NoError(t, b.put(&settle{}, load{}), "a command without load is always accepted")
	all, _, closed := b.take(nil)
	assert.Len(t, all, 3)
	require.NoError(t, closed)
	require.NoError(t, b.put(&change{}, load{tasks: 11}), "a command above the bound is accepted if no other waits")
	require.ErrorIs(t, b.put(&change{}, load{tasks: 1}), ErrOverloaded)
	b.close(ErrClosed)
	require.ErrorIs(t, b.put(&change{}, load{tasks: 1}), ErrClosed)
	require.ErrorIs(t, b.put(&settle{}, load{}), ErrClosed)
	all, _, closed = b.take(all[:0])
	assert.Len(t, all, 1, "waiting commands can still be taken")
	require.ErrorIs(t, closed, ErrClosed)
}

func TestInboxWakesItsTaker(t *testing.T) {
	b := newInbox(load{tasks: 10, bytes: 1000})
	require.NoError(t, b.put(&change{}, load{tasks: 1}))
	require.NoError(t, b.put(&change{}, load{tasks: 1}))
	receive(t, b.wake)
	assert.Empty(t, b.wake, "one signal suffices for all waiting commands")
	_, _, err := b.take(nil)
	require.NoError(t, err)
	b.close(ErrClosed)
	receive(t, b.wake)
}

// stuckClock is a clock that blocks its reader, the deciding goroutine, until the test releases it.
type stuckClock struct {
	entered chan struct{} // has an element once the clock was read
	gate    chan struct{}
	letGo   func()
}

func newStuckClock() *stuckClock {
	c := &stuckClock{entered: make(chan struct{}, 1), gate: make(chan struct{})}
	c.letGo = sync.OnceFunc(func() { close(c.gate) })
	return c
}

func (c *stuckClock) nowMs() int64 {
	select {
	case c.entered <- struct{}{}:
	default:
	}
	<-c.gate
	return 1_000
}

func TestOverloadIsRefusedEarly(t *testing.T) {
	clock := newStuckClock()
	f := start(t, vfs.NewMem(), Options{NowMs: clock.nowMs, InboxTasksMax: 10})
	defer f.stop()
	defer clock.letGo()
	receive(t, clock.entered) // from here on the shard takes no command
	first := f.enqueueLater(newTasks("q", 8)...)
	require.ErrorIs(t, f.Enqueue(tenant, newTasks("q", 8), func([]queue.Enqueued, error) { t.Error("answered though refused") }), ErrOverloaded)
	settled := ask(t, func(r func([]error, error)) error { return f.Settle(tenant, nil, r) })
	clock.letGo()
	assert.NoError(t, receive(t, first).err)
	assert.NoError(t, receive(t, settled).err)
	f.enqueue(newTasks("q", 8)...) // after the waiting commands are decided, there is room again
}

func TestCloseAnswersEverything(t *testing.T) {
	clock := newStuckClock()
	defer clock.letGo()
	f := start(t, vfs.NewMem(), Options{NowMs: clock.nowMs})
	receive(t, clock.entered)
	enqueued := f.enqueueLater(newTasks("q", 2)...)
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 1})
	settled := ask(t, func(r func([]error, error)) error {
		return f.Settle(tenant, []queue.Settlement{{Token: 1, Action: queue.Complete}}, r)
	})
	found := ask(t, func(r func(Found, error)) error { return f.Lookup(tenant, queue.Ref{}, r) })
	figures := ask(t, f.Stats)
	unsubscribed := make(chan struct{})
	w.Close(func() { close(unsubscribed) })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.stop()
	}()
	require.Eventually(t, func() bool { return f.Stats(func([]queue.Stats, error) {}) != nil }, waitMost, waitStep)
	clock.letGo()
	receive(t, ended)

	assert.NoError(t, receive(t, enqueued).err)
	assert.Equal(t, reply[[]error]{value: []error{queue.ErrStaleToken}}, receive(t, settled))
	assert.NoError(t, receive(t, found).err)
	assert.NoError(t, receive(t, figures).err)
	receive(t, unsubscribed)
	assert.Len(t, w.tasks, 1, "it received a task before it ended")

	require.ErrorIs(t, f.Enqueue(tenant, newTasks("q", 1), nil), ErrClosed)
	require.ErrorIs(t, f.Settle(tenant, nil, nil), ErrClosed)
	require.ErrorIs(t, f.Lookup(tenant, queue.Ref{}, nil), ErrClosed)
	require.ErrorIs(t, f.Stats(nil), ErrClosed)
	require.ErrorIs(t, w.Credit(1), ErrClosed)
	_, err := f.Subscribe(queue.Claim{}, nil, nil, nil)
	require.ErrorIs(t, err, ErrClosed)
	again := make(chan struct{})
	w.Close(func() { close(again) })
	receive(t, again)
}

func TestInboxBoundsTheBytesThatWait(t *testing.T) {
	b := newInbox(load{tasks: 10, bytes: 1000})
	require.NoError(t, b.put(&enqueue{}, load{tasks: 1, bytes: 2000}), "a command above the bound is accepted if no other waits")
	require.ErrorIs(t, b.put(&enqueue{}, load{tasks: 1, bytes: 1}), ErrOverloaded)
	_, _, err := b.take(nil)
	require.NoError(t, err)
	require.NoError(t, b.put(&enqueue{}, load{tasks: 1, bytes: 999}))
	require.NoError(t, b.put(&enqueue{}, load{tasks: 1, bytes: 1}))
	require.ErrorIs(t, b.put(&enqueue{}, load{tasks: 1, bytes: 1}), ErrOverloaded)
}

func TestTheBytesThatMayWaitAreAnOption(t *testing.T) {
	clock := newStuckClock()
	f := start(t, vfs.NewMem(), Options{NowMs: clock.nowMs, InboxBytesMax: 100})
	defer f.stop()
	defer clock.letGo()
	receive(t, clock.entered)
	f.enqueueLater(queue.NewTask{Queue: "q", Payload: make([]byte, 60)})
	require.ErrorIs(t, f.Enqueue(tenant, []queue.NewTask{{Queue: "q", Payload: make([]byte, 60)}}, nil), ErrOverloaded)
}

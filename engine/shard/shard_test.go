package shard

import (
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/queue"
)

func TestCycle(t *testing.T) {
	var observed sync.Map
	f := start(t, vfs.NewMem(), Options{Observe: func(c CommitStats) { observed.Store(c.Commands > 0 && c.Wait > 0, true) }})
	defer f.stop()
	refs := f.enqueue(newTasks("q", 3)...)
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 2})
	for i := range 2 {
		d := receive(t, w.tasks)
		assert.Equal(t, refs[i], d.Ref)
		assert.Equal(t, []byte{byte(i)}, d.Payload)
		assert.Equal(t, int64(1_000), d.EnqueuedAtMs)
		assert.Equal(t, uint32(1), d.Attempt)
		f.end(d, queue.Complete)
		assert.Equal(t, []error{queue.ErrStaleToken},
			f.settle(tenant, queue.Settlement{Ref: d.Ref, Token: d.Token, Action: queue.Complete}), "a task is completed once")
	}
	assert.Empty(t, w.tasks, "the worker has no credit left")
	require.NoError(t, w.Credit(1))
	d := receive(t, w.tasks)
	assert.Equal(t, refs[2], d.Ref)
	assert.Equal(t, []error{queue.ErrStaleToken},
		f.settle("other", queue.Settlement{Ref: d.Ref, Token: d.Token, Action: queue.Complete}), "a task of another tenant")
	f.end(d, queue.Complete)
	a := f.audit()
	require.Len(t, a, 1)
	assert.Equal(t, queue.Counts{Enqueued: 3, Completed: 3}, a[0].Counts)
	_, worked := observed.Load(true)
	assert.True(t, worked, "Observe gets the commands and waits of commits")
}

func TestTaskThatComesIsPushedToWhoWaits(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	defer f.stop()
	w := f.work(queue.Claim{Queues: []string{"a", "b"}, Credit: 5})
	f.enqueue(queue.NewTask{Queue: "b"})
	assert.Equal(t, "b", receive(t, w.tasks).Queue.Name())
	f.enqueue(queue.NewTask{Queue: "a"})
	assert.Equal(t, "a", receive(t, w.tasks).Queue.Name())
}

// Answers are sent in the order of the decisions, and tasks in the order of their arrival, even if
// many commits are under way.
func TestAnswersAndTasksKeepTheirOrder(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{Queue: queue.Config{WindowTasks: 7}})
	defer f.stop()
	const n = 2_000
	answered := make(chan uint64, n)
	for i := range n {
		require.NoError(t, f.Enqueue(tenant, newTasks("q", 1), func(e []queue.Enqueued, err error) {
			assert.NoError(t, err)
			answered <- e[0].Ref.Seq
		}))
		_ = i
	}
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: n})
	for i := range uint64(n) {
		require.Equal(t, i, receive(t, answered))
		require.Equal(t, i, receive(t, w.tasks).Seq)
	}
}

// Tasks whose payload is not in memory are read when they are delivered, with the error of their
// last attempt.
func TestTaskBeyondTheCacheIsRead(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{Queue: queue.Config{CacheBytesMax: 1, WindowTasks: 2}})
	defer f.stop()
	f.enqueue(newTasks("q", 9)...)
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 9})
	var failed queue.Delivery
	for i := range 9 {
		d := receive(t, w.tasks)
		require.Equal(t, []byte{byte(i)}, d.Payload)
		require.Equal(t, int64(1_000), d.EnqueuedAtMs)
		failed = d
	}
	f.end(failed, queue.Fail)
	f.pass(2_000)
	require.NoError(t, w.Credit(1))
	again := receive(t, w.tasks)
	assert.Equal(t, failed.Ref, again.Ref)
	assert.Equal(t, failed.Payload, again.Payload)
	assert.Equal(t, int64(1_000), again.EnqueuedAtMs)
	assert.Equal(t, "oops", again.LastError)
	assert.Equal(t, uint32(2), again.Attempt)
	assert.Greater(t, again.Token, failed.Token)
}

func TestLeaseExpires(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	defer f.stop()
	f.enqueue(queue.NewTask{Queue: "q", LeaseMs: 50, MaxAttempts: 2})
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 10})
	first := receive(t, w.tasks)
	assert.Equal(t, int64(1_050), first.ExpiresAtMs)
	f.pass(49)
	assert.Empty(t, w.tasks)
	f.pass(1)
	second := receive(t, w.tasks)
	assert.Equal(t, uint32(2), second.Attempt)
	assert.Equal(t, "lease expired", second.LastError)
	assert.Equal(t, []error{queue.ErrStaleToken},
		f.settle(tenant, queue.Settlement{Ref: first.Ref, Token: first.Token, Action: queue.Complete}))
	f.pass(50)
	found, err := f.lookup(tenant, first.Ref)
	require.NoError(t, err)
	assert.True(t, found.Dead, "all attempts are used")
	assert.Empty(t, w.tasks)
}

// The shard wakes at its deadlines without a command. This test uses the real clock.
func TestShardWakesForWhatIsDue(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{NowMs: clock.New().NowMs})
	defer f.stop()
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 10, LeaseMs: 5})
	f.enqueue(queue.NewTask{Queue: "q", DelayMs: 5, MaxAttempts: 2})
	first := receive(t, w.tasks)
	second := receive(t, w.tasks)
	assert.Equal(t, first.Ref, second.Ref)
	assert.Equal(t, uint32(2), second.Attempt)
	require.Eventually(t, func() bool {
		found, err := f.lookup(tenant, first.Ref)
		return err == nil && found.Dead
	}, waitMost, waitStep)
}

func TestClockIsTheWallsAndNeverGoesBack(t *testing.T) {
	before := time.Now().UnixMilli()
	now := clock.New().NowMs
	last := now()
	assert.GreaterOrEqual(t, last, before)
	for range 1_000 {
		next := now()
		require.GreaterOrEqual(t, next, last)
		last = next
	}
}

func TestClosedSubscriptionGetsNothingMore(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	defer f.stop()
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 10})
	for range 2 { // a second Close has no effect, even in the same commit
		w.Close(func() {})
	}
	closed := make(chan struct{})
	w.Close(func() { close(closed) })
	receive(t, closed)
	require.NoError(t, w.Credit(5))
	f.enqueue(newTasks("q", 1)...)
	assert.Len(t, f.claim(5, "q"), 1)
	assert.Empty(t, w.tasks)
	assert.Empty(t, w.failed)
}

func TestLookup(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	defer f.stop()
	refs := f.enqueue(
		queue.NewTask{Queue: "q", Payload: []byte("ready"), Priority: 1},
		queue.NewTask{Queue: "q", DelayMs: 500},
		queue.NewTask{Queue: "q", Priority: 9},
		queue.NewTask{Queue: "q", Priority: 9, MaxAttempts: 1},
		queue.NewTask{Queue: "q", Priority: 9},
	)
	ds := f.claim(3, "q")
	require.Len(t, ds, 3)
	f.end(ds[1], queue.Fail)
	f.end(ds[2], queue.Complete)

	look := func(ref queue.Ref) Found {
		found, err := f.lookup(tenant, ref)
		require.NoError(t, err)
		assert.Equal(t, ref, found.Ref)
		assert.Equal(t, "q", found.Queue)
		return found
	}
	ready := look(refs[0])
	assert.Equal(t, "ready", string(ready.Task.Payload))
	assert.Zero(t, ready.Lease.Attempt)
	assert.Equal(t, queue.Progress{}, ready.Progress)
	assert.False(t, ready.Dead)

	assert.Equal(t, int64(1_500), look(refs[1]).Progress.DueAtMs)
	leased := look(refs[2])
	assert.Equal(t, uint32(1), leased.Lease.Attempt)
	assert.Equal(t, ds[0].ExpiresAtMs, leased.Lease.ExpiresAtMs)
	dead := look(refs[3])
	assert.True(t, dead.Dead)
	assert.Equal(t, "oops", dead.LastError)
	assert.Zero(t, dead.Lease.Attempt)

	for name, c := range map[string]struct {
		tenant string
		ref    queue.Ref
	}{
		"completed":           {tenant, refs[4]},
		"of another tenant":   {"other", refs[0]},
		"never enqueued":      {tenant, queue.Ref{Queue: refs[0].Queue, Seq: 99}},
		"of an unknown queue": {tenant, queue.Ref{Queue: 99}},
		"other priority":      {tenant, queue.Ref{Queue: refs[0].Queue, Priority: 2, Seq: refs[0].Seq}},
	} {
		_, err := f.lookup(c.tenant, c.ref)
		assert.ErrorIs(t, err, ErrNotFound, name)
	}
}

func TestTooManyQueuesFailAlone(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{Queue: queue.Config{Queues: 1}})
	defer f.stop()
	got := receive(t, f.enqueueLater(queue.NewTask{Queue: "a"}, queue.NewTask{Queue: "b"}, queue.NewTask{Queue: "a"}))
	require.NoError(t, got.err)
	require.NoError(t, got.value[0].Err)
	require.ErrorIs(t, got.value[1].Err, queue.ErrTooManyQueues)
	require.NoError(t, got.value[2].Err)
	w := f.work(queue.Claim{Queues: []string{"b", "c"}, Credit: 1})
	require.ErrorIs(t, receive(t, w.failed), queue.ErrTooManyQueues, "the bound of queues also bounds the queues without tasks that waiters name")
	require.NoError(t, w.Credit(1))
	w.Close(func() {})
	assert.Len(t, f.stats(), 1)
}

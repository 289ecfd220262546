package queue

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const idleMs = 3600_000

func (f *fixture) stored() (names []string) {
	f.Flush()
	for _, r := range f.journal.queues {
		names = append(names, r.Name)
	}
	return names
}

// pass advances the time by ms and calls Tick at each deadline in between.
func (f *fixture) pass(ms int64) {
	end := f.now + ms
	for next := f.NextDeadlineMs(); next <= end; next = f.NextDeadlineMs() {
		f.now = max(f.now, next)
		f.Tick(f.now)
	}
	f.now = end
	f.Tick(f.now)
}

// A claim stores nothing, independent of the number of named queues, and gets the first task of a
// queue that is created later.
func TestAClaimStoresNoQueue(t *testing.T) {
	f := newFixture(t, Config{})
	w := f.wait(10, "later", "never")
	assert.False(t, f.Flush(), "nothing to commit")
	assert.Empty(t, f.stored())
	_, named := f.Named("t", "later")
	assert.False(t, named)
	f.fill("later", 1)
	assert.Len(t, f.dispatch()[w], 1)
	assert.Equal(t, []string{"later"}, f.stored())
	f.Unsubscribe(w)
	assert.Empty(t, f.absent, "without waiters, no queue without a record remains")
}

func TestAwaitedQueuesAreBounded(t *testing.T) {
	f := newFixture(t, Config{Queues: 2})
	_, err := f.Subscribe(Claim{Tenant: "t", Queues: []string{"a", "b", "c"}}, nil)
	require.ErrorIs(t, err, ErrTooManyQueues)
	assert.Empty(t, f.absent)
	f.wait(1, "a", "b")
}

func TestQueuesOfATenantAreBounded(t *testing.T) {
	f := newFixture(t, Config{QueuesPerTenant: 2})
	f.fill("a", 1)
	f.fill("b", 1)
	out := make([]Enqueued, 2)
	f.Enqueue(f.now, "t", []NewTask{{Queue: "c"}, {Queue: "b"}}, out)
	require.ErrorIs(t, out[0].Err, ErrTooManyQueues)
	require.ErrorContains(t, out[0].Err, `tenant "t" has 2`)
	assert.NoError(t, out[1].Err)
	f.Enqueue(f.now, "other", []NewTask{{Queue: "c"}}, out[:1])
	assert.NoError(t, out[0].Err, "the bound is per tenant")
	a, _ := f.Named("t", "a")
	f.Purge(a, 10)
	require.NoError(t, f.Delete(a))
	f.fill("c", 1)
}

func TestADeletedQueueIsANewOneWhenItComesAgain(t *testing.T) {
	f := newFixture(t, Config{})
	require.NoError(t, f.Configure("t", "a", Policy{MaxAttempts: 7}, 1))
	before := f.fill("a", 1)[0]
	a, _ := f.Named("t", "a")
	require.ErrorIs(t, f.Delete(a), ErrQueueNotEmpty)
	w := f.wait(10, "a")
	f.Purge(a, 10)
	require.NoError(t, f.Delete(a))
	assert.Empty(t, f.stored())
	after := f.fill("a", 1)[0]
	assert.Greater(t, after.Queue, before.Queue, "the number of the deleted queue is not issued again")
	ds := f.dispatch()[w]
	require.Len(t, ds, 1, "the waiter waits for the name")
	assert.NotEqual(t, uint32(7), ds[0].MaxAttempts, "the policy was deleted")
}

// An empty, never configured queue is deleted after its idle time. Other queues remain.
func TestUnusedQueuesVanish(t *testing.T) {
	f := newFixture(t, Config{IdleMs: idleMs})
	empty := func(name string) {
		f.fill(name, 1)
		q, _ := f.Named("t", name)
		f.Purge(q, 1)
	}
	empty("empty")
	empty("configured")
	require.NoError(t, f.Configure("t", "configured", Policy{}, 1))
	empty("paused")
	require.NoError(t, f.Pause("t", "paused", true))
	empty("awaited")
	w := f.wait(1, "awaited")
	f.fill("full", 1)
	f.Flush()
	f.pass(idleMs - 1)
	assert.Len(t, f.stored(), 5)
	f.pass(1)
	assert.ElementsMatch(t, []string{"configured", "paused", "awaited", "full"}, f.stored())
	f.Unsubscribe(w)
	f.pass(idleMs)
	assert.ElementsMatch(t, []string{"configured", "paused", "full"}, f.stored(), "the queue without a waiter is deleted")
	f.Unsubscribe(f.wait(1, "full"))
	q, _ := f.Named("t", "full")
	f.Purge(q, 1)
	f.Flush()
	f.pass(idleMs)
	assert.ElementsMatch(t, []string{"configured", "paused"}, f.stored())
}

// A queue that is used repeatedly remains, and so does a queue with keys or results.
func TestAQueueWithSomethingToFindStays(t *testing.T) {
	f := newFixture(t, Config{IdleMs: idleMs, KeyWindowMs: 3 * idleMs})
	f.fill("keyed", 1, func(n *NewTask) { n.Key = "k" })
	keyed, _ := f.Named("t", "keyed")
	f.Purge(keyed, 1)
	f.fill("resulted", 1, func(n *NewTask) { n.RetentionMs = 2 * idleMs })
	w := f.wait(1, "resulted")
	d := f.dispatch()[w][0]
	out := make([]error, 1)
	f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Complete, Result: []byte("r")}}, out)
	require.NoError(t, out[0])
	f.Unsubscribe(w)
	f.Flush()
	f.pass(2*idleMs - 1)
	assert.ElementsMatch(t, []string{"keyed", "resulted"}, f.stored())

	// A recovered state does not know to which queues keys and results belong, and keeps the queue
	// until the last of them is dropped.
	s, err := New(Config{IdleMs: idleMs, KeyWindowMs: 3 * idleMs}, f.journal, f.journal.recovered())
	require.NoError(t, err)
	f.State = s
	f.pass(idleMs)
	assert.Contains(t, f.stored(), "keyed")
	f.pass(2 * idleMs)
	assert.Empty(t, f.stored())
}

// Ten thousand queues that had one burst of tasks and are empty again use at most 1 KiB of memory
// each.
func TestIdleQueuesAreSmall(t *testing.T) {
	const queues, burst = 10_000, 100
	heap := func() int64 {
		for range 2 { // the second collection empties the pools
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	f := newFixture(t, Config{IdleMs: idleMs, QueuesPerTenant: queues})
	f.journal = nil
	before := heap()
	f.State.journal = discard{}
	for i := range queues {
		name := fmt.Sprintf("queue-%05d", i)
		f.fill(name, burst)
		f.fill(name, 1, func(n *NewTask) { n.Priority = 9 })
		q, _ := f.Named("t", name)
		w := f.wait(burst+1, name)
		ds := f.dispatch()[w]
		require.Len(t, ds, burst+1)
		settlements, out := make([]Settlement, len(ds)), make([]error, len(ds))
		for k := range ds {
			settlements[k] = Settlement{Ref: ds[k].Ref, Token: ds[k].Token, Action: Complete}
		}
		f.Settle(f.now, "t", settlements, out)
		f.Unsubscribe(w)
		require.Zero(t, q.record.Counts.held())
		f.Flush()
	}
	full := heap()
	f.pass(f.cfg.trimAfterMs)
	each := (heap() - before) / queues
	assert.LessOrEqual(t, each, int64(1024), "bytes per queue; %d before the idle time", (full-before)/queues)
	runtime.KeepAlive(f)
	t.Logf("%d bytes per queue, %d before the idle time", each, (full-before)/queues)
}

// A queue with a task also frees the memory of its empty windows.
func TestIdleQueuesGiveBackEmptyWindows(t *testing.T) {
	f := newFixture(t, Config{})
	f.fill("a", 100)
	q, _ := f.Named("t", "a")
	removed, _ := f.Purge(q, 100)
	require.Equal(t, 100, removed)
	f.fill("a", 1)
	w := f.wait(1, "a")
	d, out := f.dispatch()[w][0], make([]error, 1)
	f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Release, DelayMs: 3600_000}}, out)
	require.NoError(t, out[0])
	f.Flush()
	require.Positive(t, f.freshRoom)
	f.pass(f.cfg.trimAfterMs)
	assert.Zero(t, f.freshRoom)
	assert.Zero(t, q.lanes[0].fresh.room())
}

// The capacity of all windows stays within Config.WindowsTasks.
func TestWindowsThatRanEmptyKeepLittleRoom(t *testing.T) {
	const most = 1_000
	f := newFixture(t, Config{WindowTasks: 512, WindowsTasks: most, QueuesPerTenant: 1_000})
	for i := range 100 {
		name := fmt.Sprint(i)
		f.fill(name, 500)
		q, _ := f.Named("t", name)
		removed, _ := f.Purge(q, 500)
		require.Equal(t, 500, removed)
		f.Flush()
		assert.LessOrEqual(t, f.freshRoom, most+512+(i+1)*roomKept)
	}
}

// discard is a journal that discards mutations.
type discard struct{ Journal }

func (discard) PutTask(Ref, Task)                  {}
func (discard) PutFresh(Ref, Task)                 {}
func (discard) DropTask(Ref)                       {}
func (discard) PutLease(uint64, []LeaseRef, int64) {}
func (discard) DropLease(uint64)                   {}
func (discard) PutQueue(*Record)                   {}
func (discard) PutMeta(Meta)                       {}

// freshCount is a journal that counts the tasks of a new queue.
type freshCount struct {
	discard
	fresh, stored int
}

func (j *freshCount) PutFresh(Ref, Task)      { j.fresh++ }
func (j *freshCount) PutTask(Ref, Task)       { j.stored++ }
func (*freshCount) PutDue(Ref, uint8, Due)    {}
func (*freshCount) PutProgress(Ref, Progress) {}

// Tasks that will probably be claimed soon are written with PutFresh. A task behind many others or
// a delayed task is not.
func TestTasksBehindManyOthersAreNotPutAsFresh(t *testing.T) {
	const window = 100
	f := newFixture(t, Config{WindowTasks: window})
	j := &freshCount{}
	f.State.journal = j
	f.fill("q", 1, func(n *NewTask) { n.DelayMs = 1_000 })
	assert.Equal(t, freshCount{stored: 1}, *j)
	f.fill("q", 2*window)
	assert.Equal(t, freshCount{fresh: window, stored: window + 1}, *j)
	f.fill("q", 1, func(n *NewTask) { n.Priority = 1 })
	assert.Equal(t, freshCount{fresh: window + 1, stored: window + 1}, *j, "another lane")
}

package shard

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/fsck"
	"github.com/pronybench/prony/engine/storage/record"
)

// depending returns a task with dependencies.
func depending(t *testing.T, q string, after []string, batchSize uint32, batch string, dead queue.DeadDependency) queue.NewTask {
	t.Helper()
	n := queue.NewTask{Queue: q}
	require.Nil(t, n.Depend(after, batchSize, batch, dead))
	return n
}

// enqueueIn stores one task in a shard.
func (f *groupFixture) enqueueIn(shard int, n queue.NewTask) queue.ID {
	f.t.Helper()
	got := receive(f.t, ask(f.t, func(r func([]queue.Enqueued, error)) error {
		return f.here.Load().shards[shard].Enqueue(tenant, []queue.NewTask{n}, r)
	}))
	require.NoError(f.t, got.err)
	require.NoError(f.t, got.value[0].Err)
	return queue.ID{Shard: uint16(shard), Ref: got.value[0].Ref}
}

func (f *groupFixture) lookup(id queue.ID) (Found, error) {
	f.t.Helper()
	got := receive(f.t, ask(f.t, func(r func(Found, error)) error { return f.Lookup(tenant, id, r) }))
	return got.value, got.err
}

// becomes waits until a task has a state.
func (f *groupFixture) becomes(id queue.ID, s TaskState) Found {
	f.t.Helper()
	var found Found
	until(f.t, func() bool {
		var err error
		found, err = f.lookup(id)
		return err == nil && found.State == s
	})
	return found
}

func (f *groupFixture) dependencies(id queue.ID, limit int) (all []queue.Dependency, waitingFor uint32) {
	f.t.Helper()
	l := DependencyList{Tenant: tenant, ID: id, Limit: limit}
	for {
		got := receive(f.t, ask(f.t, func(r func(DependencyPage, error)) error { return f.Dependencies(l, r) }))
		require.NoError(f.t, got.err)
		all = append(all, got.value.Dependencies...)
		if l.After = got.value.Next; len(l.After) == 0 {
			return all, got.value.WaitingFor
		}
	}
}

// one claims the task with an id, which must be the only ready one of its queue.
func (f *groupFixture) one(id queue.ID, name string) leased {
	f.t.Helper()
	ds := f.claim(2, name)
	require.Len(f.t, ds, 1)
	require.Equal(f.t, id, queue.ID{Shard: ds[0].shard, Ref: ds[0].Ref})
	return ds[0]
}

func (f *groupFixture) complete(l leased, result []byte) {
	f.t.Helper()
	s := l.settlement(queue.Complete)
	s.Result = result
	require.Equal(f.t, []error{nil}, f.settle(s))
}

// settled waits until no shard has a message.
func (f *groupFixture) settled() {
	f.t.Helper()
	until(f.t, func() bool {
		f.stats()
		for _, s := range f.stores {
			if len(recordsOf(f.t, s, record.PrefixMessage)) > 0 {
				return false
			}
		}
		return true
	})
}

func recordsOf(t *testing.T, s *storage.Store, prefix byte) (keys [][]byte) {
	t.Helper()
	snap := s.Snapshot()
	defer func() { require.NoError(t, snap.Close()) }()
	require.NoError(t, snap.Scan([]byte{prefix}, func(k, _ []byte) (bool, error) {
		keys = append(keys, append([]byte(nil), k...))
		return true, nil
	}))
	return keys
}

// consistent checks the stores.
func (f *groupFixture) consistent() {
	f.t.Helper()
	f.stats()
	for i, s := range f.stores {
		problems, err := fsck.CheckConsistency(f.t.Context(), s, 9)
		require.NoError(f.t, err)
		require.Empty(f.t, problems, "shard %d", i)
	}
}

// nothingLeft requires that nothing about dependencies is stored.
func (f *groupFixture) nothingLeft() {
	f.t.Helper()
	f.settled()
	f.consistent()
	for _, s := range f.stores {
		for _, prefix := range []byte{record.PrefixWaiting, record.PrefixLink} {
			require.Empty(f.t, recordsOf(f.t, s, prefix))
		}
	}
}

// A task becomes ready when the tasks that it names are done, whichever shards they are in, with
// their results.
func TestATaskWaitsForTasksOfAllShards(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 3, nil)
	defer f.stop()
	var after []string
	var ids []queue.ID
	for i := range 3 {
		id := f.enqueueIn(i, queue.NewTask{Queue: "a"})
		ids, after = append(ids, id), append(after, id.String())
	}
	w := f.enqueueIn(1, depending(t, "w", after, 0, "", queue.WaitForDead))
	found, err := f.lookup(w)
	require.NoError(t, err)
	assert.Equal(t, Waiting, found.State)
	assert.Equal(t, uint32(3), found.WaitingFor)
	assert.Equal(t, uint64(1), f.stats()["w"].Waiting)
	assert.Zero(t, f.stats()["w"].Delayed)
	f.settled()
	long := make([]byte, queue.DependencyResultMax+1)
	for i, l := range f.claim(3, "a") {
		require.Empty(t, f.claim(1, "w"))
		result := fmt.Append(nil, "result ", l.shard)
		if i == 2 {
			result = long
		}
		f.complete(l, result)
		f.settled()
		f.consistent()
	}
	d := f.one(w, "w")
	got, waitingFor := f.dependencies(w, 2)
	assert.Zero(t, waitingFor)
	require.Len(t, got, 3)
	omitted := 0
	for i, x := range got {
		assert.Equal(t, ids[i], x.ID)
		assert.Equal(t, queue.DependencyDone, x.Outcome)
		if x.Omitted {
			omitted++
			assert.Empty(t, x.Result)
		} else {
			assert.Equal(t, fmt.Sprint("result ", i), string(x.Result))
		}
	}
	assert.Equal(t, 1, omitted)
	f.complete(d, nil)
	f.nothingLeft()
}

// A task that is done when another one names it counts as missing, or as done if its result is
// retained. One that is dead counts as dead.
func TestATaskMayWaitForTasksThatFinishedBefore(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 2, nil)
	defer f.stop()
	for shard := range 2 {
		done := f.enqueueIn(shard, queue.NewTask{Queue: "a"})
		f.complete(f.one(done, "a"), []byte("r"))
		dead := f.enqueueIn(shard, queue.NewTask{Queue: "a", MaxAttempts: 1})
		f.settle(f.one(dead, "a").settlement(queue.Fail))
		retained := f.enqueueIn(shard, queue.NewTask{Queue: "a", RetentionMs: 60_000})
		f.complete(f.one(retained, "a"), []byte("retained"))
		w := f.enqueueIn(0, depending(t, "w", []string{done.String(), dead.String(), retained.String()}, 0, "", queue.WaitForDead))
		until(t, func() bool { found, _ := f.lookup(w); return found.WaitingFor == 1 })
		f.settled()
		got, waitingFor := f.dependencies(w, 10)
		assert.Equal(t, uint32(1), waitingFor)
		assert.Equal(t, []queue.Dependency{
			{ID: done, Outcome: queue.DependencyMissing},
			{ID: dead, Outcome: queue.DependencyDead},
			{ID: retained, Outcome: queue.DependencyDone, Result: []byte("retained")},
		}, got)
		changed := receive(t, ask(t, func(r func([]error, error)) error {
			return f.here.Load().shards[shard].Change(Redrive, tenant, []queue.Ref{dead.Ref}, r)
		}))
		require.Equal(t, []error{nil}, changed.value)
		f.complete(f.one(dead, "a"), []byte("late"))
		f.becomes(w, Ready)
		got, _ = f.dependencies(w, 10)
		assert.Equal(t, queue.Dependency{ID: dead, Outcome: queue.DependencyDone, Result: []byte("late")}, got[1])
		f.complete(f.one(w, "w"), nil)
		f.nothingLeft()
	}
}

// A queue with waiting tasks has tasks. Its forced deletion waits until other tasks know the ends of its
// tasks.
func TestAQueueWithWaitingTasksIsDeleted(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 2, nil)
	defer f.stop()
	a := f.enqueueIn(0, queue.NewTask{Queue: "a"})
	w := f.enqueueIn(1, depending(t, "w", []string{a.String()}, 0, "", queue.WaitForDead))
	x := f.enqueueIn(0, depending(t, "x", []string{w.String()}, 0, "", queue.RunAnyway))
	_, err := f.Delete(t.Context(), tenant, "w", false)
	require.ErrorIs(t, err, queue.ErrQueueNotEmpty)
	for _, name := range []string{"w", "a"} {
		removed, err := f.Delete(t.Context(), tenant, name, true)
		require.NoError(t, err, name)
		assert.EqualValues(t, 1, removed, name)
	}
	_, err = f.lookup(w)
	require.ErrorIs(t, err, ErrNotFound)
	f.becomes(x, Ready)
}

// What happens to a waiting task when a task that it waits for dies, or is cancelled or purged, is
// its own choice, whether it names the task or is the last of the task's batch.
func TestAWaitingTaskOutlivesADeadTaskAsItChooses(t *testing.T) {
	for _, batch := range []bool{false, true} {
		for how, end := range map[string]struct {
			of   func(f *groupFixture, id queue.ID)
			as   queue.DependencyOutcome
			text string
		}{
			"dies":   {func(f *groupFixture, id queue.ID) { f.settle(f.one(id, "a").settlement(queue.Fail)) }, queue.DependencyDead, "died"},
			"cancel": {func(f *groupFixture, id queue.ID) { f.change(Cancel, id) }, queue.DependencyRemoved, "was cancelled or purged"},
			"purge": {func(f *groupFixture, id queue.ID) {
				n, err := f.Purge(f.t.Context(), tenant, "a")
				require.NoError(f.t, err)
				require.Equal(f.t, uint64(1), n)
			}, queue.DependencyRemoved, "was cancelled or purged"},
		} {
			for dead, state := range map[queue.DeadDependency]TaskState{queue.WaitForDead: Waiting, queue.RunAnyway: Ready, queue.DieToo: Dead} {
				t.Run(fmt.Sprint(how, batch, dead), func(t *testing.T) {
					f := startGroup(t, vfs.NewMem(), 2, nil)
					defer f.stop()
					a, w := queue.ID{}, queue.ID{}
					if batch {
						w = f.enqueueIn(0, depending(t, "w", nil, 1, "", dead))
						n := depending(t, "a", nil, 0, w.String(), queue.WaitForDead)
						n.MaxAttempts = 1
						a = f.enqueueIn(1, n)
					} else {
						a = f.enqueueIn(1, queue.NewTask{Queue: "a", MaxAttempts: 1})
						w = f.enqueueIn(0, depending(t, "w", []string{a.String()}, 0, "", dead))
					}
					f.settled()
					end.of(f, a)
					f.settled()
					found := f.becomes(w, state)
					if state == Dead {
						assert.Equal(t, fmt.Sprintf("this task waited for task %s, which %s", a, end.text), found.LastError)
						page, err := f.List(t.Context(), List{Tenant: tenant, Queue: "w", State: Dead, Limit: 2}, ListPlace{})
						require.NoError(t, err)
						require.Len(t, page.Tasks, 1)
						assert.Equal(t, queue.DependencyDied, page.Tasks[0].DeadRecord.Reason)
						f.change(Redrive, w)
						f.becomes(w, Ready)
					}
					got, _ := f.dependencies(w, 10)
					assert.Equal(t, []queue.Dependency{{ID: a, Outcome: end.as}}, got)
					f.consistent()
					if state == Waiting {
						page, err := f.List(t.Context(), List{Tenant: tenant, Queue: "w", State: Waiting, Limit: 2}, ListPlace{})
						require.NoError(t, err)
						require.Len(t, page.Tasks, 1)
						assert.Equal(t, uint32(1), page.Tasks[0].WaitingFor)
						page, err = f.List(t.Context(), List{Tenant: tenant, Queue: "w", State: Delayed, Limit: 2}, ListPlace{})
						require.NoError(t, err)
						require.Empty(t, page.Tasks)
						f.change(Reschedule(0), w)
						f.becomes(w, Ready)
						assert.Zero(t, f.stats()["w"].Waiting)
					}
					if end.as == queue.DependencyDead { // a completion after a redrive does not count again
						f.change(Redrive, a)
						f.complete(f.one(a, "a"), nil)
						f.settled()
					}
					f.complete(f.one(w, "w"), nil)
					f.nothingLeft()
				})
			}
		}
	}
}

func (f *groupFixture) change(what Change, id queue.ID) {
	f.t.Helper()
	errs, err := f.Change(f.t.Context(), what, tenant, []queue.ID{id})
	require.NoError(f.t, err)
	require.Equal(f.t, []error{nil}, errs)
}

// The last task of a batch becomes ready after all members, which are in several shards, and more
// than one delivery of messages has room for. Tasks that name a common one become ready together.
func TestTheLastTaskOfABatchFollowsAllMembers(t *testing.T) {
	const members, waiters = 1_500, 700
	f := startGroup(t, vfs.NewMem(), 3, nil)
	defer f.stop()
	w := f.enqueueIn(2, depending(t, "w", nil, members, "", queue.WaitForDead))
	for i := range waiters {
		f.enqueueIn(i%3, depending(t, "x", []string{w.String()}, 0, "", queue.WaitForDead))
	}
	for i := range members / 100 {
		tasks := make([]queue.NewTask, 100)
		for k := range tasks {
			tasks[k] = depending(t, "a", nil, 0, w.String(), queue.WaitForDead)
		}
		f.enqueueAt(i%3, tasks...)
	}
	left := members
	for left > 0 {
		require.Empty(t, f.claim(1, "w"))
		ends := make([]queue.Settlement, 0, 400)
		for _, l := range f.claim(400, "a") {
			s := l.settlement(queue.Complete)
			s.Result = []byte{1, 2, 3}
			ends = append(ends, s)
		}
		for _, err := range f.settle(ends...) {
			require.NoError(t, err)
		}
		left -= len(ends)
	}
	f.becomes(w, Ready)
	f.consistent()
	got, _ := f.dependencies(w, 1_000)
	assert.Len(t, got, members)
	require.Empty(t, f.claim(1, "x"))
	f.complete(f.one(w, "w"), []byte("whole"))
	f.settled()
	f.consistent()
	xs := f.claim(waiters+1, "x")
	require.Len(t, xs, waiters)
	for _, l := range xs {
		got, _ := f.dependencies(queue.ID{Shard: l.shard, Ref: l.Ref}, 10)
		assert.Equal(t, []queue.Dependency{{ID: w, Outcome: queue.DependencyDone, Result: []byte("whole")}}, got)
		f.complete(l, nil)
	}
	f.nothingLeft()
	for name, shards := range map[string]int64{"a": 3, "w": 1, "x": 3} {
		assert.Equal(t, uint64(shards*queue.QueueBytes(tenant, name)), f.stats()[name].Charged, name)
	}
}

// A message that is sent after the last reading keeps its courier from ending.
func TestACourierReadsAgainBeforeItEnds(t *testing.T) {
	c := &couriers{ctx: t.Context(), running: 1 << 2}
	c.begin(2) // and it reads nothing
	c.wake(1<<2, 7)
	assert.False(t, c.rest(2))
	c.readFrom(2, 5)
	from, below := c.begin(2)
	assert.Equal(t, []uint64{5, 7}, []uint64{from, below})
	assert.True(t, c.rest(2))
	assert.Zero(t, c.running)
	c.wake(0, 6)
	from, below = c.begin(3)
	assert.Equal(t, []uint64{0, 7}, []uint64{from, below}, "what is durable stays durable")
}

// Messages that no other shard sends are refused, and repeated ones have no effect.
func TestMessagesOfOtherShards(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 2, nil)
	defer f.stop()
	a := f.enqueueIn(0, queue.NewTask{Queue: "a"})
	for _, bad := range []queue.Message{
		{Kind: queue.EndedTask, Ref: a.Ref, Tenant: tenant}, {Kind: queue.DroppedTask, Ref: a.Ref, Tenant: tenant}, {Kind: queue.Link, Ref: a.Ref, Tenant: tenant, Of: queue.ID{Shard: 2}},
	} {
		require.ErrorContains(t, f.Deliver(t.Context(), 0, []queue.Message{bad}), "which no other shard sends")
	}
	require.ErrorIs(t, f.Deliver(t.Context(), 2, nil), ErrNotLeader)
	w := f.enqueueIn(1, depending(t, "w", []string{a.String()}, 0, "", queue.WaitForDead))
	f.settled()
	link := queue.Message{Kind: queue.Link, Ref: a.Ref, Tenant: tenant, Of: w}
	stranger := queue.Message{Kind: queue.DependencyFinished, Ref: w.Ref, Tenant: "other", Of: a, Outcome: queue.DependencyDone}
	require.NoError(t, f.Deliver(t.Context(), 0, []queue.Message{link}))
	require.NoError(t, f.Deliver(t.Context(), 1, []queue.Message{stranger}))
	x := f.enqueueIn(1, depending(t, "w", []string{w.String()}, 0, "", queue.WaitForDead)) // so that w has a link
	f.settled()
	y := f.enqueueIn(1, depending(t, "y", nil, 1, "", queue.WaitForDead))
	require.NoError(t, f.Deliver(t.Context(), 0, []queue.Message{ // a link of a stranger hides none of the tenant
		{Kind: queue.Link, Ref: a.Ref, Tenant: "other", Of: queue.ID{Shard: 1, Ref: queue.Ref{Queue: 77}}},
		{Kind: queue.Link, Ref: a.Ref, Tenant: tenant, Of: y},
	}))
	assert.Len(t, recordsOf(t, f.stores[0], record.PrefixLink), 3, "the links to w and y, and their number")
	f.consistent()
	found, err := f.lookup(w)
	require.NoError(t, err)
	assert.Equal(t, Waiting, found.State, "the message is of another tenant")
	f.complete(f.one(a, "a"), []byte("r"))
	f.becomes(w, Ready)
	require.NoError(t, f.Deliver(t.Context(), 0, []queue.Message{link}))
	f.settled()
	got, _ := f.dependencies(w, 10)
	assert.Equal(t, []queue.Dependency{{ID: a, Outcome: queue.DependencyDone, Result: []byte("r")}}, got)
	f.complete(f.one(w, "w"), nil)
	f.becomes(x, Ready)
	f.complete(f.one(x, "w"), nil)
	f.change(Cancel, y)
	f.nothingLeft()
}

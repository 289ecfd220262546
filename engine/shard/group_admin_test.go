package shard

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// populate gives each shard n ready, n delayed, n leased and n dead tasks of queue "q".
func (f *groupFixture) populate(n int) {
	f.t.Helper()
	for i := range f.Len() {
		var dead []queue.NewTask
		for k := range n {
			dead = append(dead, queue.NewTask{Queue: "q", MaxAttempts: 1, Priority: 9, Payload: fmt.Append(nil, "dead", k)})
		}
		f.enqueueAt(i, dead...)
		f.enqueueAt(i, newTasks("q", 2*n)...)
		f.enqueueAt(i, queue.NewTask{Queue: "other"})
	}
	left := f.Len() * 2 * n
	for left > 0 {
		ds := f.claim(2*n, "q")
		require.NotEmpty(f.t, ds)
		left -= len(ds)
		for _, d := range ds {
			if d.Priority == 9 {
				require.Equal(f.t, []error{nil}, f.settle(d.settlement(queue.Fail)))
			}
		}
	}
	for i := range f.Len() {
		var delayed []queue.NewTask
		for range n {
			delayed = append(delayed, queue.NewTask{Queue: "q", DelayMs: 1_000_000})
		}
		f.enqueueAt(i, delayed...)
	}
}

func counts(st queue.Stats) [4]uint64 { return [4]uint64{st.Ready, st.Delayed, st.Leased, st.Dead} }

func TestOneQueuesFigures(t *testing.T) {
	ctx := testContext(t)
	f := startGroup(t, vfs.NewMem(), 3, nil)
	defer f.stop()
	f.populate(2)
	st, err := f.QueueStats(ctx, tenant, "q")
	require.NoError(t, err)
	assert.Equal(t, [4]uint64{6, 6, 6, 6}, counts(st))
	assert.Equal(t, int64(1_000), st.ReadySinceMs)
	f.enqueueAt(2, newTasks("one", 1)...)
	st, err = f.QueueStats(ctx, tenant, "one")
	require.NoError(t, err)
	assert.Equal(t, uint64(1), st.Ready)
	for _, c := range [][2]string{{tenant, "none"}, {"nobody", "q"}} {
		_, err = f.QueueStats(ctx, c[0], c[1])
		require.ErrorIs(t, err, ErrNoQueue)
	}
}

// After a restart no task is in memory, so the age of the oldest task is read from the store.
func TestTheOldestTaskOfAllShards(t *testing.T) {
	ctx, fs := testContext(t), vfs.NewMem()
	f := startGroup(t, fs, 2, nil)
	f.nowMs.Store(5_000)
	f.enqueueAt(1, newTasks("q", 1)...)
	f.nowMs.Store(6_000)
	f.enqueueAt(0, newTasks("q", 1)...)
	f.stop()
	f = startGroup(t, fs, 2, nil)
	defer f.stop()
	assert.Equal(t, int64(5_000), f.stats()["q"].ReadySinceMs)
	st, err := f.QueueStats(ctx, tenant, "q")
	require.NoError(t, err)
	assert.Equal(t, int64(5_000), st.ReadySinceMs)
}

func TestAPurgeReachesEveryShard(t *testing.T) {
	ctx := testContext(t)
	f := startGroup(t, vfs.NewMem(), 3, func(_ int, o *Options) { o.Queue.WindowTasks = 4 })
	defer f.stop()
	f.populate(2)
	f.enqueueAt(1, newTasks("q", 2*purgeMax+5)...) // more than one command removes
	removed, err := f.Purge(ctx, tenant, "q")
	require.NoError(t, err)
	assert.Equal(t, uint64(12+2*purgeMax+5), removed)
	st := f.stats()["q"]
	assert.Equal(t, [4]uint64{0, 0, 6, 6}, counts(st))
	assert.Equal(t, removed, st.Removed)
	assert.Equal(t, uint64(3), f.stats()["other"].Ready)
	removed, err = f.Purge(ctx, tenant, "q")
	require.NoError(t, err)
	assert.Zero(t, removed)
	_, err = f.Purge(ctx, "nobody", "q")
	require.ErrorIs(t, err, ErrNoQueue)
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, err = f.Purge(over, tenant, "other")
	require.ErrorIs(t, err, context.Canceled)
}

func TestChangesReachTheirShards(t *testing.T) {
	ctx := testContext(t)
	f := startGroup(t, vfs.NewMem(), 3, nil)
	defer f.stop()
	f.populate(1)
	dead, err := f.List(ctx, List{Tenant: tenant, Queue: "q", State: Dead, Limit: 10}, ListPlace{})
	require.NoError(t, err)
	require.Len(t, dead.IDs, 3)
	ready, err := f.List(ctx, List{Tenant: tenant, Queue: "q", State: Ready, Limit: 10}, ListPlace{})
	require.NoError(t, err)
	require.Len(t, ready.IDs, 3)
	out, err := f.Change(ctx, Redrive, tenant, []queue.ID{dead.IDs[2], ready.IDs[0], dead.IDs[0], {Shard: 7}, {Shard: 1, Ref: queue.Ref{Queue: 99}}})
	require.NoError(t, err)
	assert.Equal(t, []error{nil, ErrNotDead, nil, ErrNotFound, ErrNotFound}, out)
	out, err = f.Change(ctx, PurgeDead, tenant, []queue.ID{dead.IDs[0], dead.IDs[1]})
	require.NoError(t, err)
	assert.Equal(t, []error{ErrNotDead, nil}, out)
	out, err = f.Change(ctx, Cancel, tenant, []queue.ID{ready.IDs[0], dead.IDs[0], ready.IDs[0]})
	require.NoError(t, err)
	assert.Equal(t, []error{nil, nil, ErrNotFound}, out)
	out, err = f.Change(ctx, Cancel, "nobody", ready.IDs[1:])
	require.NoError(t, err)
	assert.Equal(t, []error{ErrNotFound, ErrNotFound}, out)
	assert.Equal(t, [4]uint64{3, 3, 3, 0}, counts(f.stats()["q"]))
}

// Consecutive pages of any size list each task once.
func TestListsGoOverAllShards(t *testing.T) {
	const shards, n = 3, 4
	ctx := testContext(t)
	f := startGroup(t, vfs.NewMem(), shards, nil)
	defer f.stop()
	f.populate(n)
	f.enqueueAt(1, newTasks("one", 2)...)
	for _, state := range []TaskState{Ready, Delayed, Leased, Dead} {
		for _, limit := range []int{1, 3, 4, 5, 8, 12, 100} {
			for _, bytes := range []int{0, 5} {
				l := List{Tenant: tenant, Queue: "q", State: state, Limit: limit, BytesMax: bytes}
				seen := map[queue.ID]bool{}
				at := &ListPlace{}
				for pages := 0; at != nil; pages++ {
					require.Less(t, pages, 40)
					page, err := f.List(ctx, l, *at)
					require.NoError(t, err)
					require.LessOrEqual(t, len(page.Tasks), limit)
					for i, id := range page.IDs {
						require.False(t, seen[id], "%v twice", id)
						seen[id] = true
						require.Equal(t, state, page.Tasks[i].State)
						require.Equal(t, id.Ref, page.Tasks[i].Ref)
					}
					at = page.Next
				}
				assert.Len(t, seen, shards*n, "state %d, limit %d", state, limit)
			}
		}
	}
	page, err := f.List(ctx, List{Tenant: tenant, Queue: "one", State: Ready, Limit: 2}, ListPlace{})
	require.NoError(t, err)
	assert.Len(t, page.IDs, 2)
	_, err = f.List(ctx, List{Tenant: "nobody", Queue: "q", State: Ready, Limit: 2}, ListPlace{})
	require.ErrorIs(t, err, ErrNoQueue)
	for _, at := range []ListPlace{{Shard: -1}, {Shard: shards}, {After: storage.Place("tnonsense")}} {
		_, err = f.List(ctx, List{Tenant: tenant, Queue: "q", State: Ready, Limit: 2}, at)
		require.ErrorIs(t, err, storage.ErrPlace)
	}
}

// Payload bytes bound a page too; the following tasks are on the next page.
func TestPagesAreBoundedInBytes(t *testing.T) {
	ctx := testContext(t)
	f := startGroup(t, vfs.NewMem(), 2, nil)
	defer f.stop()
	for i := range 2 {
		for range 4 {
			f.enqueueAt(i, queue.NewTask{Queue: "q", MaxAttempts: 1, Payload: []byte(strings.Repeat("x", 100))})
		}
	}
	sizes := func(state TaskState) (out []int) {
		at := &ListPlace{}
		for at != nil {
			page, err := f.List(ctx, List{Tenant: tenant, Queue: "q", State: state, Limit: 100, BytesMax: 250}, *at)
			require.NoError(t, err)
			if len(page.Tasks) > 0 {
				out = append(out, len(page.Tasks))
			}
			at = page.Next
		}
		return out
	}
	assert.Equal(t, []int{3, 3, 2}, sizes(Ready))
	var ds []leased
	for len(ds) < 8 {
		ds = append(ds, f.claim(8, "q")...)
	}
	assert.Equal(t, []int{3, 3, 2}, sizes(Leased))
	for _, d := range ds {
		s := d.settlement(queue.Fail)
		s.Error = strings.Repeat("e", 100)
		f.settle(s)
	}
	assert.Equal(t, []int{2, 2, 2, 2}, sizes(Dead), "errors count")
}

func TestDeadTasksAreChangedByChoice(t *testing.T) {
	const n = deadPage + 20
	ctx := testContext(t)
	f := startGroup(t, vfs.NewMem(), 2, nil)
	defer f.stop()
	f.populate(n)
	zero := func(d *Found) bool { return string(d.Task.Payload) == "dead0" }
	changed, err := f.ChangeDead(ctx, PurgeDead, tenant, "q", zero)
	require.NoError(t, err)
	assert.Equal(t, uint64(2), changed)
	changed, err = f.ChangeDead(ctx, Redrive, tenant, "q", nil)
	require.NoError(t, err)
	assert.Equal(t, uint64(2*(n-1)), changed)
	assert.Equal(t, [4]uint64{4*n - 2, 2 * n, 2 * n, 0}, counts(f.stats()["q"]))
	_, err = f.ChangeDead(ctx, Redrive, tenant, "none", nil)
	require.ErrorIs(t, err, ErrNoQueue)
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, err = f.ChangeDead(over, Redrive, tenant, "q", nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAResultIsAwaitedInItsShard(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 2, nil)
	defer f.stop()
	f.enqueue(queue.NewTask{Queue: "first"})
	e := f.enqueue(queue.NewTask{Queue: "q", RetentionMs: 1_000})[0]
	require.Equal(t, uint16(1), e.Shard)
	got := make(chan reply[Awaited], 2)
	_, err := f.Await(tenant, queue.ID{Shard: 1, Ref: e.Ref}, func(a Awaited, err error) { got <- reply[Awaited]{a, err} })
	require.NoError(t, err)
	s := f.claim(1, "q")[0].settlement(queue.Complete)
	s.Result = []byte("42")
	f.settle(s)
	r := receive(t, got)
	require.NoError(t, r.err)
	assert.Equal(t, "42", string(r.value.Result.Value))
	_, err = f.Await(tenant, queue.ID{Shard: 2, Ref: e.Ref}, nil)
	require.ErrorIs(t, err, ErrNotFound)
}

func TestCopiesOfAllShards(t *testing.T) {
	fs := vfs.NewMem()
	f := startGroup(t, fs, 2, nil)
	for i := range 2 {
		f.enqueueAt(i, newTasks("q", i+1)...)
	}
	require.NoError(t, receive(t, ask(t, func(r func(struct{}, error)) error {
		return f.PutSystem([]storage.SystemRecord{{Key: "k", Value: []byte("v")}}, r)
	})).err)
	require.NoError(t, fs.MkdirAll("copy", 0o700))
	folder := func(i int) string { return filepath.Join("copy", fmt.Sprintf("shard%d", i)) }
	for i := range 2 {
		require.NoError(t, f.Checkpoint(i, folder(i)))
		require.ErrorContains(t, f.Checkpoint(i, folder(i)), folder(i))
	}
	f.enqueueAt(0, newTasks("q", 9)...)
	f.stop()

	stores := make([]*storage.Store, 2)
	for i := range stores {
		var err error
		stores[i], err = storage.Open(folder(i), storage.Options{FS: fs, Durability: storage.Sync})
		require.NoError(t, err)
	}
	g := &groupFixture{t: t, stores: stores}
	var err error
	g.Group, err = NewGroup(stores, func(int) Options { return Options{} })
	require.NoError(t, err)
	defer g.stop()
	assert.Equal(t, uint64(3), g.stats()["q"].Ready)
	records, err := g.System()
	require.NoError(t, err)
	assert.Equal(t, []storage.SystemRecord{{Key: "k", Value: []byte("v")}}, records)
}

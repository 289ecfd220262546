package shard

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitMost)
	t.Cleanup(cancel)
	return ctx
}

func (f *groupFixture) shardStats(shard int, name string) queue.Stats {
	f.t.Helper()
	got := receive(f.t, ask(f.t, func(r func(queue.Stats, error)) error { return f.here.Load().shards[shard].QueueStats(tenant, name, r) }))
	require.NoError(f.t, got.err)
	return got.value
}

func (f *groupFixture) shardsOf(name string, calls int) map[uint16]bool {
	f.t.Helper()
	shards := map[uint16]bool{}
	for range calls {
		shards[f.enqueue(newTasks(name, 1)...)[0].Shard] = true
	}
	return shards
}

func TestAPolicyHoldsInEveryShard(t *testing.T) {
	const shards = 3
	ctx, fs := testContext(t), vfs.NewMem()
	f := startGroup(t, fs, shards, nil)
	ordered := queue.Policy{Placement: queue.Ordered, MaxAttempts: 7}
	require.NoError(t, f.Configure(ctx, tenant, "q", ordered))
	assert.Equal(t, map[uint16]bool{uint16(f.owner(tenant, "q")): true}, f.shardsOf("q", 5))
	assert.Len(t, f.shardsOf("r", 3), shards)
	for i := range shards {
		assert.Equal(t, ordered, f.shardStats(i, "q").Policy)
	}
	require.NoError(t, f.Configure(ctx, "other", "r", ordered))
	f.stop()

	f = startGroup(t, fs, shards, nil)
	assert.Len(t, f.shardsOf("q", 5), 1, "a restart keeps the policy")
	assert.Len(t, f.shardsOf("r", 3), shards, "the policy is for queue r of another tenant")
	spread := queue.Policy{LeaseMs: 9}
	require.NoError(t, f.Configure(ctx, tenant, "q", spread))
	assert.Len(t, f.shardsOf("q", 3), shards)
	st, err := f.QueueStats(ctx, tenant, "q")
	require.NoError(t, err)
	assert.Equal(t, spread, st.Policy)
	assert.Equal(t, uint64(2), st.PolicyVersion)
	f.stop()

	f = startGroup(t, fs, shards, nil)
	defer f.stop()
	assert.Len(t, f.shardsOf("q", 3), shards)
}

// A crash between two shards' commits leaves a policy or a pause in some shards only. The next
// start completes it.
func TestAHalfSetPolicyIsCompleted(t *testing.T) {
	const shards = 3
	ctx, fs := testContext(t), vfs.NewMem()
	f := startGroup(t, fs, shards, nil)
	require.NoError(t, f.Configure(ctx, tenant, "q", queue.Policy{MaxAttempts: 1}))
	later := queue.Policy{Placement: queue.Ordered, MaxAttempts: 2}
	for _, r := range []<-chan reply[struct{}]{
		ask(t, func(r func(struct{}, error)) error {
			return f.here.Load().shards[1].Configure(tenant, "q", later, 5, r)
		}),
		ask(t, func(r func(struct{}, error)) error { return f.here.Load().shards[2].Pause(tenant, "new", true, r) }),
	} {
		require.NoError(t, receive(t, r).err)
	}
	f.stop()

	f = startGroup(t, fs, shards, nil)
	defer f.stop()
	for i := range shards {
		st := f.shardStats(i, "q")
		assert.Equal(t, later, st.Policy)
		assert.Equal(t, uint64(5), st.PolicyVersion)
		assert.False(t, st.Paused)
		assert.True(t, f.shardStats(i, "new").Paused)
	}
	assert.Len(t, f.shardsOf("q", 3), 1)
	require.NoError(t, f.Configure(ctx, tenant, "q", queue.Policy{MaxAttempts: 3}))
	assert.Equal(t, uint64(6), f.shardStats(0, "q").PolicyVersion)
	assert.Len(t, f.shardsOf("q", 3), shards)
}

// A shard without room for the queue does not prevent the group from starting.
func TestAPolicyThatAShardHasNoRoomFor(t *testing.T) {
	ctx, fs := testContext(t), vfs.NewMem()
	small := func(i int, o *Options) { o.Queue.Queues = 2 - i }
	f := startGroup(t, fs, 2, small)
	f.enqueueAt(1, newTasks("full", 1)...)
	require.ErrorIs(t, f.Configure(ctx, tenant, "q", queue.Policy{Placement: queue.Ordered}), queue.ErrTooManyQueues)
	assert.Len(t, f.shardsOf("full", 2), 2)
	f.stop()
	f = startGroup(t, fs, 2, small)
	defer f.stop()
	assert.Equal(t, queue.Ordered, f.stats()["q"].Policy.Placement)
}

// Concurrent changes end with the same policy in all shards, and placement follows it.
func TestPoliciesConverge(t *testing.T) {
	const shards = 4
	ctx := testContext(t)
	f := startGroup(t, vfs.NewMem(), shards, nil)
	defer f.stop()
	for round := range 20 {
		name := fmt.Sprint("q", round)
		var all sync.WaitGroup
		for i := range uint32(8) {
			all.Go(func() {
				assert.NoError(t, f.Configure(ctx, tenant, name, queue.Policy{Placement: queue.Placement(i % 2), MaxAttempts: i + 1}))
			})
		}
		all.Wait()
		first := f.shardStats(0, name)
		assert.Equal(t, uint64(8), first.PolicyVersion)
		for i := range shards {
			assert.Equal(t, first.Policy, f.shardStats(i, name).Policy)
		}
		want := shards
		if first.Policy.Placement == queue.Ordered {
			want = 1
		}
		assert.Len(t, f.shardsOf(name, shards), want)
	}
}

func TestAPauseHoldsInEveryShard(t *testing.T) {
	ctx := testContext(t)
	f := startGroup(t, vfs.NewMem(), 3, nil)
	defer f.stop()
	for i := range 3 {
		f.enqueueAt(i, newTasks("q", 2)...)
	}
	require.NoError(t, f.Pause(ctx, tenant, "q", true))
	require.NoError(t, f.Pause(ctx, tenant, "new", true))
	assert.Empty(t, f.claim(10, "q"))
	w := f.work(queue.Claim{Queues: []string{"q", "new"}, Credit: 3})
	f.enqueue(newTasks("q", 1)...)
	assert.True(t, f.stats()["q"].Paused)
	assert.Equal(t, uint64(7), f.stats()["q"].Ready)
	assert.Empty(t, w.tasks)
	require.NoError(t, f.Pause(ctx, tenant, "q", false))
	for range 7 {
		receive(t, w.tasks)
		require.NoError(t, w.Credit(1))
	}
	f.end(w)
}

// A key is found in every call, also in calls that span shards, and after a restart.
func TestKeysAreFoundInTheirShard(t *testing.T) {
	const shards = 3
	fs := vfs.NewMem()
	f := startGroup(t, fs, shards, nil)
	f.pin("ordered")
	var tasks []queue.NewTask
	for i := range 30 {
		tasks = append(tasks, queue.NewTask{Queue: []string{"q", "r", "ordered"}[i%3], Key: fmt.Sprint(i / 3)})
	}
	first := f.enqueue(tasks...)
	used := map[uint16]bool{}
	for i, e := range first {
		require.False(t, e.Duplicate)
		used[e.Shard] = true
		if i%3 == 2 {
			assert.Equal(t, f.owner(tenant, "ordered"), int(e.Shard))
		}
	}
	assert.Len(t, used, shards)
	f.stop()
	f = startGroup(t, fs, shards, nil)
	defer f.stop()
	f.pin("ordered")
	for i, e := range first {
		again := f.enqueue(queue.NewTask{Queue: "other"}, tasks[i])[1]
		assert.True(t, again.Duplicate)
		assert.Equal(t, e.Ref, again.Ref)
		assert.Equal(t, e.Shard, again.Shard)
	}
}

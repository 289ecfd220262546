package shard

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// ofGroup returns a task of a group.
func ofGroup(name, group string) queue.NewTask {
	n := queue.NewTask{Queue: name}
	n.AddHeaders(map[string]string{queue.GroupHeader: group})
	return n
}

func (f *groupFixture) configure(name string, p queue.Policy) {
	f.t.Helper()
	require.NoError(f.t, f.Configure(context.Background(), tenant, name, p))
}

// All tasks of a group are in one shard, so that its limit is exact. Those without a group, and all
// tasks of other queues, go to any shard.
func TestTheTasksOfALimitedGroupAreInOneShard(t *testing.T) {
	const shards, groups, most = 3, 40, 2
	f := startGroup(t, vfs.NewMem(), shards, nil)
	defer f.stop()
	f.configure("q", queue.Policy{GroupLimit: queue.Limit{LeasedMax: most}})
	shardOf, used := map[string]uint16{}, map[uint16]bool{}
	for i := range 6 {
		tasks := make([]queue.NewTask, groups)
		for k := range tasks {
			tasks[k] = ofGroup("q", fmt.Sprint(k))
			tasks[k].Key = fmt.Sprint(i, k) // a key does not move the task
		}
		for k, e := range f.enqueue(tasks...) {
			if i == 0 {
				shardOf[fmt.Sprint(k)] = e.Shard
				used[e.Shard] = true
			}
			require.Equal(t, shardOf[fmt.Sprint(k)], e.Shard)
		}
	}
	assert.Len(t, used, shards)
	all := f.claim(1_000, "q")
	for range 5 {
		got := f.claim(1_000, "q")
		if len(got) == 0 {
			break
		}
		all = append(all, got...)
	}
	assert.Len(t, all, groups*most)
	spread := map[uint16]bool{}
	for range shards {
		spread[f.enqueue(ofGroup("other", "0"))[0].Shard] = true
	}
	assert.Len(t, spread, shards)
}

// A change of a limit applies to waiting workers and parked tasks without any other event.
func TestAChangeOfALimitAppliesAtOnce(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 3, nil)
	defer f.stop()
	limits := func(each, all uint32) {
		f.configure("q", queue.Policy{Placement: queue.Ordered, Limit: queue.Limit{LeasedMax: all}, GroupLimit: queue.Limit{LeasedMax: each}})
	}
	limits(1, 0)
	for range 10 {
		f.enqueue(ofGroup("q", "a"), ofGroup("q", "b"))
	}
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 100})
	var held []leased
	more := func(n int) {
		t.Helper()
		for range n {
			held = append(held, receive(t, w.tasks))
		}
		f.stats() // after the turn that leased them
		require.Empty(t, w.tasks)
	}
	more(2)
	assert.EqualValues(t, 18, f.stats()["q"].Parked)
	limits(3, 0)
	more(4)
	limits(3, 8)
	more(0)
	limits(5, 8)
	more(2)
	limits(5, 0)
	more(2)
	limits(2, 0)
	for range 3 {
		require.Equal(t, []error{nil, nil}, f.settle(held[0].settlement(queue.Complete), held[1].settlement(queue.Complete)))
		held = held[2:]
	}
	more(0)
	require.Equal(t, []error{nil, nil}, f.settle(held[0].settlement(queue.Complete), held[1].settlement(queue.Complete)))
	held = held[2:]
	more(2)
	limits(0, 0)
	more(8)
	assert.Zero(t, f.stats()["q"].Parked)
	f.end(w)

	f.configure("all", queue.Policy{Placement: queue.Ordered, Limit: queue.Limit{LeasedMax: 1}})
	f.enqueue(queue.NewTask{Queue: "all"}, queue.NewTask{Queue: "all"})
	w = f.work(queue.Claim{Queues: []string{"all"}, Credit: 100})
	receive(t, w.tasks)
	f.stats()
	require.Empty(t, w.tasks)
	f.configure("all", queue.Policy{})
	receive(t, w.tasks)
	f.end(w)
}

// The parts of a limit that the shards apply add up to the limit, and lose no part of the rate.
func TestTheShardsDivideTheLimitOfASpreadQueue(t *testing.T) {
	const shards, rate, seconds = 3, 100, 30
	f := startGroup(t, vfs.NewMem(), shards, nil)
	defer f.stop()
	f.configure("q", queue.Policy{Limit: queue.Limit{RateMilli: rate * 1_000, Burst: 10}})
	for range 4 * shards {
		tasks := make([]queue.NewTask, 400)
		for i := range tasks {
			tasks[i].Queue = "q"
		}
		f.enqueue(tasks...)
	}
	drain := func() (n int) {
		for {
			got := f.claim(1_000, "q")
			if len(got) == 0 {
				return n
			}
			n += len(got)
		}
	}
	assert.Equal(t, 10, drain(), "a full bucket has the burst")
	n := 0
	for range seconds * 1_000 / 37 {
		f.nowMs.Add(37)
		f.ClockMoved()
		n += drain()
	}
	assert.InEpsilon(t, rate*seconds, n, 0.01)

	f.configure("leased", queue.Policy{Limit: queue.Limit{LeasedMax: 10}})
	for range 10 * shards {
		f.enqueue(queue.NewTask{Queue: "leased"}, queue.NewTask{Queue: "leased"})
	}
	total := 0
	for got := f.claim(100, "leased"); len(got) > 0; got = f.claim(100, "leased") {
		total += len(got)
	}
	assert.Equal(t, 10, total)

	var bad *queue.FieldError
	require.ErrorAs(t, f.Configure(context.Background(), tenant, "q", queue.Policy{Limit: queue.Limit{LeasedMax: shards - 1}}), &bad)
	assert.Equal(t, "policy.limit.leased_max", bad.Field)
	assert.Contains(t, bad.Problem, "use placement ORDERED")
}

// A waiting worker gets a task when its group has a token.
func TestAWaitingWorkerGetsATaskWithItsToken(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 2, nil)
	defer f.stop()
	f.configure("q", queue.Policy{GroupLimit: queue.Limit{RateMilli: 4_000, Burst: 1}})
	for range 3 {
		f.enqueue(ofGroup("q", "a"), ofGroup("q", "b"))
	}
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 100})
	for range 2 {
		receive(t, w.tasks)
		receive(t, w.tasks)
		f.nowMs.Add(245)
		f.ClockMoved()
		f.stats()
		require.Empty(t, w.tasks)
		f.nowMs.Add(5)
		f.ClockMoved()
	}
	receive(t, w.tasks)
	receive(t, w.tasks)
	f.end(w)
}

// A restarted shard neither leases leased tasks again nor forgets parked ones, although the leased
// tasks are newer.
func TestARestartKeepsLeasedAndParkedTasksApart(t *testing.T) {
	disk := vfs.NewMem()
	f := startGroup(t, disk, 1, nil)
	f.configure("q", queue.Policy{GroupLimit: queue.Limit{LeasedMax: 1}})
	for range 5 {
		f.enqueue(ofGroup("q", "a"))
	}
	f.enqueue(ofGroup("q", "b"), ofGroup("q", "c"), ofGroup("q", "b"))
	held := f.claim(10, "q")
	require.Len(t, held, 3)
	for range 3 {
		page := receive(t, ask(t, func(r func(Listed, error)) error {
			return f.here.Load().shards[0].List(List{Tenant: tenant, Queue: "q", State: Ready, Limit: 100}, r)
		}))
		require.NoError(t, page.err)
		assert.Len(t, page.value.Tasks, 5, "those that wait")
		f.stop()
		f = startGroup(t, disk, 1, nil)
		f.audit()
		require.Empty(t, f.claim(10, "q"))
	}
	require.Equal(t, []error{nil}, f.settle(held[1].settlement(queue.Complete)))
	next := f.claim(10, "q")
	require.Len(t, next, 1)
	require.Equal(t, held[2].Seq+1, next[0].Seq, "the second task of group b, and not the first again")
	for range 4 {
		require.Equal(t, []error{nil}, f.settle(held[0].settlement(queue.Complete)))
		next := f.claim(10, "q")
		require.Len(t, next, 1)
		require.Greater(t, next[0].Seq, held[0].Seq)
		held[0] = next[0]
		f.stop()
		f = startGroup(t, disk, 1, nil)
	}
	f.stop()
}

// In a spread queue with a limit of groups, a recurring task can't have a group.
func TestARecurringTaskWithAGroupNeedsAnOrderedQueue(t *testing.T) {
	ctx := context.Background()
	f := startGroup(t, vfs.NewMem(), 2, nil)
	defer f.stop()
	spec := everyMs(60_000)
	spec.Template.Headers = map[string]string{queue.GroupHeader: "a"}
	limited := queue.Policy{GroupLimit: queue.Limit{LeasedMax: 1}}
	var bad *queue.FieldError
	f.configure("q", limited)
	_, err := f.SetRecurring(ctx, tenant, "q", "r", spec)
	require.ErrorAs(t, err, &bad)
	assert.Contains(t, bad.Problem, "use placement ORDERED")
	f.configure("q", queue.Policy{})
	_, err = f.SetRecurring(ctx, tenant, "q", "r", spec)
	require.NoError(t, err)
	require.ErrorAs(t, f.Configure(ctx, tenant, "q", limited), &bad)
	assert.Equal(t, "policy.group_limit", bad.Field)
	limited.Placement = queue.Ordered
	f.configure("q", limited)
}

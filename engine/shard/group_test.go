package shard

import (
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

func TestSpreadCallsTakeTheShardsInTurn(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 3, nil)
	defer f.stop()
	var shards []uint16
	for range 6 {
		out := f.enqueue(append(newTasks("q", 2), newTasks("r", 2)...)...)
		for i := range out {
			require.Equal(t, out[0].Shard, out[i].Shard, "one call goes to one shard")
		}
		shards = append(shards, out[0].Shard)
	}
	assert.Equal(t, []uint16{0, 1, 2, 0, 1, 2}, shards)
	assert.Equal(t, uint64(12), f.stats()["q"].Ready)
	assert.Equal(t, uint64(12), f.audit()["r"].Stored)
	assert.Len(t, f.stats(), 2)
}

func TestOrderedQueuesAreInOneShard(t *testing.T) {
	fs := vfs.NewMem()
	f := startGroup(t, fs, 4, nil)
	defer f.stop()
	shards := map[uint16]bool{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		f.pin(name)
		first := f.enqueue(newTasks(name, 1)...)[0]
		for range 5 {
			// The spread tasks of the same call may go to another shard. Results are in the call's
			// order.
			out := f.enqueue(append(newTasks("spread", 1), newTasks(name, 2)...)...)
			assert.Equal(t, first.Shard, out[1].Shard)
			assert.Equal(t, first.Shard, out[2].Shard)
			assert.Equal(t, out[1].Ref.Seq+1, out[2].Ref.Seq)
		}
		assert.Equal(t, uint64(11), f.stats()[name].Ready)
		shards[first.Shard] = true
	}
	assert.Greater(t, len(shards), 1, "queues are distributed over shards")
	f.places.follow(queueName{tenant, "a"}, &queue.Policy{}, 2)
	f.places.follow(queueName{tenant, "b"}, &queue.Policy{}, 0) // an earlier change that arrives late
	f.places.follow(queueName{"other", "c"}, &queue.Policy{}, 2)
	seen := map[uint16]bool{}
	for range 4 {
		seen[f.enqueue(newTasks("a", 1)...)[0].Shard] = true
	}
	assert.Len(t, seen, 4)
	assert.Equal(t, f.owner(tenant, "b"), int(f.enqueue(newTasks("b", 1)...)[0].Shard))
}

// The shard of a name is part of the storage format. A different result would split ordered queues
// and keys over shards.
func TestOwnersStayWhereTheyAre(t *testing.T) {
	g := &Group{size: 7}
	var got []int
	for _, name := range [][]string{{"default", "q"}, {"default", "r"}, {"t", "a"}, {"ta", ""}, {"t", "a", "k"}, {"", ""}, {}} {
		got = append(got, g.owner(name...))
	}
	assert.Equal(t, []int{5, 6, 6, 3, 5, 0, 6}, got)
	counts := make([]int, 7)
	for i := range 7_000 {
		counts[g.owner("default", string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676)))]++
	}
	for _, n := range counts {
		assert.InDelta(t, 1_000, n, 200)
	}
}

func TestSpanningCallsKeepTheirOrder(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 4, func(_ int, o *Options) { o.Queue.Queues = 4 })
	defer f.stop()
	names := []string{"a", "b", "c", "d"}
	var tasks []queue.NewTask
	for i := range 40 {
		name := names[i*7%4]
		f.pin(name)
		tasks = append(tasks, queue.NewTask{Queue: name, Payload: []byte{byte(i)}})
	}
	out := f.enqueue(tasks...)
	var settlements []queue.Settlement
	for i, e := range out {
		assert.Equal(t, f.owner(tenant, tasks[i].Queue), int(e.Shard))
		found := receive(t, ask(t, func(r func(Found, error)) error { return f.Lookup(tenant, queue.ID{Shard: e.Shard, Ref: e.Ref}, r) }))
		require.NoError(t, found.err)
		assert.Equal(t, tasks[i].Payload, found.value.Task.Payload)
	}
	w := f.work(queue.Claim{Queues: names, Credit: 40})
	got := map[byte]leased{}
	for range 40 {
		l := receive(t, w.tasks)
		got[l.Payload[0]] = l
	}
	for i := range 40 {
		settlements = append(settlements, got[byte(i)].settlement(queue.Complete))
	}
	settlements[3].Token += 1 << 40
	settlements[7].Shard = 9
	settlements[8].Shard = 4
	for i, err := range f.settle(settlements...) {
		switch i {
		case 3:
			assert.Equal(t, queue.ErrStaleToken, err)
		case 7, 8:
			assert.Equal(t, ErrNotFound, err)
		default:
			assert.NoError(t, err)
		}
	}
	left := uint64(0)
	for _, a := range f.audit() {
		left += a.Stored
	}
	assert.Equal(t, uint64(3), left)
	assert.Equal(t, []error{ErrNotFound, ErrNotFound}, f.settle(queue.Settlement{Shard: 4}, queue.Settlement{Shard: 4}), "a batch without an existing shard")
	require.ErrorIs(t, f.Lookup(tenant, queue.ID{Shard: 4}, nil), ErrNotFound)
	f.end(w)
}

// In a call that spans shards, an invalid item fails alone, in any shard's part.
func TestItemErrorsKeepTheirPlaces(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 2, func(_ int, o *Options) { o.Queue.Queues = 1 })
	defer f.stop()
	// The spread queues of the call below go to shard 0. These two must go to one shard each.
	names := []string{"", ""}
	for _, n := range []string{"a", "b", "c", "d", "e", "f"} {
		names[f.owner(tenant, n)] = n
	}
	f.pin(names[0])
	f.pin(names[1])
	got := receive(t, f.enqueueLater(queue.NewTask{Queue: names[1]}, queue.NewTask{Queue: names[0]}, queue.NewTask{Queue: "spread"}, queue.NewTask{Queue: names[1]}))
	require.NoError(t, got.err)
	require.NoError(t, got.value[0].Err)
	require.NoError(t, got.value[1].Err)
	require.ErrorIs(t, got.value[2].Err, queue.ErrTooManyQueues)
	require.NoError(t, got.value[3].Err)
}

func TestAnOverloadedShardRefusesItsItemsOnly(t *testing.T) {
	clock := newStuckClock()
	var stopped atomic.Bool
	f := startGroup(t, vfs.NewMem(), 2, func(i int, o *Options) {
		o.InboxTasksMax = 10
		if i == 1 {
			o.NowMs = func() int64 {
				if stopped.Load() {
					return clock.nowMs()
				}
				return 1_000
			}
		}
	})
	defer f.stop()
	defer clock.letGo()
	stopped.Store(true)
	require.NoError(t, f.here.Load().shards[1].Stats(func([]queue.Stats, error) {}))
	receive(t, clock.entered) // from here on the shard takes no command
	names := []string{"", ""}
	for _, n := range []string{"a", "b", "c", "d", "e", "f"} {
		names[f.owner(tenant, n)] = n
		f.pin(n)
	}
	stuck := f.enqueueLater(newTasks(names[1], 8)...)
	got := receive(t, f.enqueueLater(append(newTasks(names[1], 3), newTasks(names[0], 2)...)...))
	require.NoError(t, got.err)
	for i, e := range got.value {
		if i < 3 {
			assert.ErrorIs(t, e.Err, ErrOverloaded)
		} else {
			assert.NoError(t, e.Err)
		}
	}
	require.ErrorIs(t, f.Enqueue(tenant, newTasks(names[1], 3), func([]queue.Enqueued, error) { t.Error("answered though refused") }), ErrOverloaded)
	clock.letGo()
	require.NoError(t, receive(t, stuck).err)
}

func TestAGroupOfOneIsItsShard(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 1, nil)
	defer f.stop()
	out := f.enqueue(newTasks("q", 3)...)
	assert.Zero(t, out[0].Shard)
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 2})
	first, second := receive(t, w.tasks), receive(t, w.tasks)
	assert.Equal(t, []error{nil, nil}, f.settle(first.settlement(queue.Complete), second.settlement(queue.Fail)))
	assert.Equal(t, []error{ErrNotFound}, f.settle(queue.Settlement{Shard: 1, Token: 1, Action: queue.Complete}))
	require.NoError(t, w.Credit(1))
	third := receive(t, w.tasks)
	require.NoError(t, w.Sent(0, 1))
	assert.Equal(t, []error{nil, ErrNotFound}, f.settle(third.settlement(queue.Complete), queue.Settlement{Shard: 1}))
	assert.Equal(t, queue.Counts{Enqueued: 3, Completed: 2, Returned: 1, Bytes: 1}, f.audit()["q"].Counts)
	assert.Empty(t, f.end(w))
	require.ErrorIs(t, f.Lookup(tenant, queue.ID{Shard: 1, Ref: out[2].Ref}, nil), ErrNotFound)
}

func TestStatsAndAuditAreSums(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 3, nil)
	defer f.stop()
	for range 3 {
		f.enqueue(append(newTasks("q", 3), queue.NewTask{Queue: "q", DelayMs: 50}, queue.NewTask{Queue: "q", MaxAttempts: 1, Priority: 9})...)
	}
	for range 3 {
		ds := f.claim(3, "q")
		require.Len(t, ds, 3)
		f.settle(ds[0].settlement(queue.Fail), ds[1].settlement(queue.Complete))
	}
	want := queue.Stats{
		Tenant: tenant, Name: "q", Enqueued: 15, Completed: 3, Ready: 3, Delayed: 3, Leased: 3, Dead: 3, Bytes: 6, ReadySinceMs: 1_000,
		Charged: uint64(3*queue.QueueBytes(tenant, "q") + 12*queue.TaskBytes(0) + 6 + 3*queue.AttemptBytes("oops")),
		Events:  queue.Events{FailedAttempts: 3, Died: [5]uint64{queue.AttemptsUsedUp: 3}},
	}
	got := f.stats()["q"]
	assert.InDelta(t, 15./60, got.EnqueuedPerS, 1e-9)
	assert.InDelta(t, 3./60, got.CompletedPerS, 1e-9)
	got.EnqueuedPerS, got.CompletedPerS = 0, 0
	assert.Equal(t, want, got)
	assert.Equal(t, Audited{
		Tenant: tenant, Name: "q", Stored: 12,
		Counts:  queue.Counts{Enqueued: 15, Completed: 3, Fresh: 3, Returned: 3, Leased: 3, Dead: 3, Bytes: 6},
		Counted: storage.States{Ready: 3, Delayed: 3, Leased: 3, Dead: 3}, Found: storage.States{Ready: 3, Delayed: 3, Leased: 3, Dead: 3},
	}, f.audit()["q"])
}

func TestBadGroups(t *testing.T) {
	for _, n := range []int{0, ShardsMax + 1} {
		_, err := NewGroup(make([]*storage.Store, n), nil)
		require.ErrorContains(t, err, "use 1 to 32")
	}
	fs := vfs.NewMem()
	stores := openStores(t, fs, 3)
	b := stores[1].NewBatch()
	b.PutLease(1, []queue.LeaseRef{{Ref: queue.Ref{Queue: 9}, Attempt: 1}}, 0)
	b.PutTask(queue.Ref{Queue: 9}, queue.Task{})
	commit, err := b.Submit()
	require.NoError(t, err)
	require.NoError(t, commit.Wait())
	_, err = NewGroup(stores, func(int) Options { return Options{} })
	require.ErrorContains(t, err, "shard 1: recover the shard: lease batch 1 names queue 9")
	for _, s := range stores {
		require.NoError(t, s.Close())
	}
}

func TestAClosedGroupTakesNothing(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 3, nil)
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 1})
	f.stop()
	closed := make(chan struct{})
	w.Close(func() { close(closed) })
	receive(t, closed)
	require.ErrorIs(t, f.Enqueue(tenant, newTasks("q", 1), nil), ErrClosed)
	require.ErrorIs(t, f.Settle(tenant, []queue.Settlement{{}, {Shard: 1}}, nil), ErrClosed)
	require.ErrorIs(t, f.Stats(nil), ErrClosed)
	require.ErrorIs(t, f.Claim(queue.Claim{Queues: []string{"q"}}, nil), ErrClosed)
	_, err := f.Subscribe(queue.Claim{Queues: []string{"q"}}, nil, nil, nil)
	require.ErrorIs(t, err, ErrClosed)
}

// If some shards are closed, gather waits for the others and then returns the refusal.
func TestAHalfClosedGroup(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 2, nil)
	defer f.stop()
	f.here.Load().shards[1].Close()
	require.ErrorIs(t, receive(t, ask(t, f.Stats)).err, ErrClosed)
	got := f.settle(queue.Settlement{Shard: 0, Token: 1}, queue.Settlement{Shard: 1, Token: 1})
	assert.Equal(t, []error{queue.ErrStaleToken, ErrClosed}, got)
	_, err := f.Subscribe(queue.Claim{Tenant: tenant, Queues: []string{"q"}, Credit: 1}, func(uint16, []queue.Delivery) {}, func(error) {}, nil)
	require.ErrorIs(t, err, ErrClosed)
	asked := make(chan error, 1)
	require.NoError(t, f.Claim(queue.Claim{Tenant: tenant, Queues: []string{"none"}, Credit: 1}, func(_ []Granted, err error) { asked <- err }))
	require.ErrorIs(t, receive(t, asked), ErrClosed)
}

// ClockMoved wakes a shard that sleeps until a deadline, so that it does not oversleep after its
// clock was slewed forward.
func TestClockMovedEndsTheSleepUntilADeadline(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 2, nil)
	defer f.stop()
	delayed := newTasks("q", 1)
	delayed[0].DelayMs = 3_600_000
	f.enqueue(delayed...)
	got := make(chan struct{}, 1)
	sub, err := f.Subscribe(queue.Claim{Tenant: tenant, Queues: []string{"q"}, Credit: 1},
		func(uint16, []queue.Delivery) { got <- struct{}{} }, func(err error) { t.Errorf("failed: %v", err) }, nil)
	require.NoError(t, err)
	defer sub.Close(func() {})
	f.stats() // the shards have decided all earlier commands
	f.nowMs.Add(3_600_000)
	f.ClockMoved()
	receive(t, got)
}

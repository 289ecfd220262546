package shard

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/queue"
)

// With one credit at a time, every shard delivers in its turn, even if the others have plenty of
// tasks.
func TestOneCreditSeesEveryShard(t *testing.T) {
	const shards, rounds = 4, 50
	f := startGroup(t, vfs.NewMem(), shards, nil)
	defer f.stop()
	for i := range shards {
		f.enqueueAt(i, newTasks("q", 2*rounds)...)
	}
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 1})
	d := receive(t, w.tasks)
	require.Eventually(t, func() bool { return unpackPool(w.pool.word.Load()).starved == 1<<shards-1 }, waitMost, waitStep, "all shards are starved")
	for i := range shards * rounds {
		before := d.shard
		require.Equal(t, []error{nil}, f.settle(d.settlement(queue.Complete)))
		require.Empty(t, w.tasks, "one credit allows one task")
		require.NoError(t, w.Credit(1))
		d = receive(t, w.tasks)
		if i >= shards { // the first shard may take credit before the others are starved
			require.Equal(t, (before+1)%shards, d.shard, "shards deliver in turn")
		}
	}
	f.end(w)
}

// Queues share a subscriber's credit by their weights, independent of their shards and of the
// amount of credit.
func TestWeightsHoldOverAllShards(t *testing.T) {
	const shards, n = 4, 1_000
	ctx := testContext(t)
	f := startGroup(t, vfs.NewMem(), shards, nil)
	defer f.stop()
	names := [2]string{"a", "a"} // two ordered queues in different shards
	for i := 0; f.owner(tenant, names[0]) == f.owner(tenant, names[1]); i++ {
		names[1] = string(rune('b' + i))
	}
	for _, name := range names {
		require.NoError(t, f.Configure(ctx, tenant, name, queue.Policy{Placement: queue.Ordered}))
	}
	for _, c := range []struct {
		queues  []string
		weights []uint32
		credit  int
	}{
		{names[:], []uint32{3, 1}, 1},
		{names[:], []uint32{3, 1}, 100},
		{[]string{"spread", names[0]}, nil, 1},
		{[]string{"spread", names[0]}, []uint32{1, 2}, 8},
		{[]string{"spread", "too"}, []uint32{1, 4}, 1},
	} {
		for _, name := range append(c.queues, "spread", "too") {
			_, err := f.Purge(ctx, tenant, name)
			if !errors.Is(err, ErrNoQueue) {
				require.NoError(t, err)
			}
		}
		for i := range shards {
			for _, name := range c.queues {
				if name == names[0] || name == names[1] {
					f.enqueue(newTasks(name, n/2)...)
				} else {
					f.enqueueAt(i, newTasks(name, n/2)...)
				}
			}
		}
		w := f.work(queue.Claim{Queues: c.queues, Weights: c.weights, Credit: c.credit})
		got := map[string]int{}
		hungry := uint32(1<<shards - 1) // the shards that have tasks
		if c.queues[0] == names[0] {
			hungry = 1<<f.owner(tenant, names[0]) | 1<<f.owner(tenant, names[1])
		}
		for i := range n {
			d := receive(t, w.tasks)
			got[d.Queue.Name()]++
			// Wait for each shard: one that the operating system does not schedule cannot get its
			// share.
			if i%c.credit == c.credit-1 {
				until(t, func() bool { return unpackPool(w.pool.word.Load()).starved == hungry })
				require.NoError(t, w.Credit(c.credit))
			}
		}
		weights := c.weights
		if weights == nil {
			weights = []uint32{1, 1}
		}
		want := float64(n) * float64(weights[0]) / float64(weights[0]+weights[1])
		assert.InDelta(t, want, got[c.queues[0]], n/10, "%v %v by %d: %v", c.queues, c.weights, c.credit, got)
		for _, d := range f.end(w) {
			f.settle(d.settlement(queue.Complete))
		}
	}
}

// Credit moves to the shards that have tasks.
func TestCreditMovesToTheShardWithTasks(t *testing.T) {
	const shards, credit = 4, 8
	f := startGroup(t, vfs.NewMem(), shards, nil)
	defer f.stop()
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: credit})
	for round := range 12 {
		shard := round % shards
		f.enqueueAt(shard, newTasks("q", 2*credit)...)
		for range 2 {
			var batch []queue.Settlement
			for range credit {
				d := receive(t, w.tasks)
				require.Equal(t, shard, int(d.shard))
				batch = append(batch, d.settlement(queue.Complete))
			}
			require.Empty(t, w.tasks)
			f.settle(batch...)
			require.NoError(t, w.Credit(credit))
		}
	}
	f.end(w)
}

func TestAClaimGetsWhatIsReadyInAllShards(t *testing.T) {
	const shards = 3
	f := startGroup(t, vfs.NewMem(), shards, func(_ int, o *Options) { o.Queue.WindowTasks = 2 })
	defer f.stop()
	assert.Empty(t, f.claim(5, "q"))
	for i := range shards { // tasks that are not due do not disturb
		f.enqueueAt(i, queue.NewTask{Queue: "q", DelayMs: 1_000_000})
	}
	for i := range 2 * shards {
		f.enqueueAt(i%shards, newTasks("q", 5)...)
		f.enqueueAt((i+1)%shards, newTasks("q", 2)...)
		assert.Len(t, f.claim(3, "none", "q"), 3)
		assert.Len(t, f.claim(1_000, "none", "q"), 4)
		assert.Empty(t, f.claim(1, "q"))
	}
	assert.Empty(t, f.end(f.work(queue.Claim{Queues: []string{"q"}, Credit: 9})), "all tasks are leased")
}

func TestAClaimIsBoundedInBytes(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 2, nil)
	defer f.stop()
	for i := range 10 {
		f.enqueueAt(i%2, queue.NewTask{Queue: "q", Payload: make([]byte, 100)})
	}
	got := make(chan int, 1)
	for _, c := range []struct{ most, want int }{{500, 5}, {250, 3}, {0, 2}} {
		require.NoError(t, f.Claim(queue.Claim{Tenant: tenant, Queues: []string{"q"}, Credit: 9, BytesMax: int64(c.most)}, func(all []Granted, err error) {
			assert.NoError(t, err)
			n := 0
			for _, part := range all {
				n += len(part.Tasks)
			}
			got <- n
		}))
		assert.Equal(t, c.want, receive(t, got))
	}
}

// One shard grants a waiting claim once, and no other shard leases tasks for it.
func TestAWaitingClaimIsGrantedOnce(t *testing.T) {
	const shards = 4
	f := startGroup(t, vfs.NewMem(), shards, nil)
	defer f.stop()
	for round := range 100 {
		if round%2 == 0 { // the tasks arrive before the claim, or while it waits
			for i := range shards {
				f.enqueueAt(i, newTasks("q", 3)...)
			}
		}
		w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 5, Once: true})
		if round%2 == 1 {
			var all sync.WaitGroup
			for i := range shards {
				all.Go(func() {
					assert.NoError(t, f.here.Load().shards[i].Enqueue(tenant, newTasks("q", 3), func([]queue.Enqueued, error) {}))
				})
			}
			all.Wait()
		}
		first := receive(t, w.tasks)
		got := append(f.end(w), first)
		require.Equal(t, int32(1), w.grants.Load())
		require.LessOrEqual(t, len(got), 3)
		require.Equal(t, len(got), int(f.stats()["q"].Leased))
		for _, d := range got {
			require.Equal(t, first.shard, d.shard)
			f.settle(d.settlement(queue.Complete))
		}
		for f.stats()["q"].Ready > 0 {
			for _, d := range f.claim(100, "q") {
				f.settle(d.settlement(queue.Complete))
			}
		}
	}
}

func TestASubscriptionFailsOnce(t *testing.T) {
	f := startGroup(t, vfs.NewMem(), 3, func(_ int, o *Options) { o.Queue.Queues = 1 })
	defer f.stop()
	for i := range 3 {
		f.enqueueAt(i, newTasks("q", 1)...)
	}
	w := f.work(queue.Claim{Queues: []string{"other", "another"}, Credit: 1})
	require.ErrorIs(t, receive(t, w.failed), queue.ErrTooManyQueues)
	f.end(w)
	assert.Empty(t, w.failed)
	_, err := f.Subscribe(queue.Claim{Credit: poolCreditMax + 1}, nil, nil, nil)
	require.ErrorContains(t, err, "credit exceeds")
	w = f.work(queue.Claim{Queues: []string{"none"}, Credit: poolCreditMax})
	require.ErrorContains(t, w.Credit(1), "credit exceeds")
	failed := make(chan error, 1)
	require.NoError(t, f.Claim(queue.Claim{Tenant: tenant, Queues: []string{"other", "another"}, Credit: 1},
		func(_ []Granted, err error) { failed <- err }))
	require.ErrorIs(t, receive(t, failed), queue.ErrTooManyQueues)
}

// The bytes that are delivered and not sent are bounded over all shards together.
func TestASubscriberIsGivenNoMoreBytesThanItSends(t *testing.T) {
	const shards, size = 2, 512 << 10
	f := startGroup(t, vfs.NewMem(), shards, nil)
	defer f.stop()
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 1_000})
	for range 2 * subscriberBytesMax / size {
		f.enqueue(queue.NewTask{Queue: "q", Payload: make([]byte, size)})
	}
	given := func() int { return int(f.stats()["q"].Leased) }
	before := given()
	assert.LessOrEqual(t, before*size, subscriberBytesMax+shards*size)
	sent := 0
	for sent < 2*subscriberBytesMax/size {
		d := receive(t, w.tasks)
		sent++
		require.NoError(t, w.Sent(d.shard, size))
		require.LessOrEqual(t, given()-sent, subscriberBytesMax/size+shards)
	}
	f.end(w)
}

// Many subscribers with little credit and claims share queues in one shard and in all shards. Each
// task is completed, no subscriber holds more tasks than its credit, and no subscriber starves.
func TestEveryTaskFindsItsWay(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 7))
		shards := 1 + rng.IntN(4)
		fs := vfs.NewMem()
		f := startGroup(t, fs, shards, func(_ int, o *Options) {
			o.NowMs = clock.New().NowMs
			o.Queue = queue.Config{WindowTasks: 1 + rng.IntN(8), CacheBytesMax: 1 << rng.IntN(20), Backoff: queue.Backoff{InitialMs: 1}}
		})
		names := []string{"a", "b", "c", "d", "e"}
		for _, n := range names {
			if rng.IntN(2) == 0 {
				f.pin(n)
			}
		}
		const n = 1_200
		c := &crowd{f: f}
		c.left.Add(n)
		for range 1 + rng.IntN(4) {
			queues := append([]string(nil), names...)
			rng.Shuffle(len(queues), func(i, j int) { queues[i], queues[j] = queues[j], queues[i] })
			c.join(queues, 1+rng.IntN(5), rng.Uint64())
		}
		for sent := 0; sent < n; {
			var tasks []queue.NewTask
			for range min(1+rng.IntN(20), n-sent) {
				tasks = append(tasks, queue.NewTask{Queue: names[rng.IntN(len(names))], Priority: uint8(rng.IntN(3)), DelayMs: uint64(rng.IntN(8)) / 7, Payload: make([]byte, rng.IntN(50))})
			}
			sent += len(tasks)
			f.enqueue(tasks...)
			if rng.IntN(3) == 0 {
				for _, d := range f.claim(1+rng.IntN(9), names...) {
					require.Equal(t, []error{nil}, f.settle(d.settlement(queue.Complete)))
					c.left.Done()
				}
			}
		}
		done := make(chan struct{})
		go func() { c.left.Wait(); close(done) }()
		receive(t, done)
		for _, m := range c.members {
			closed := make(chan struct{})
			m.sub.Load().Close(func() { close(closed) })
			receive(t, closed)
		}
		for _, a := range f.audit() {
			require.Zero(t, a.Stored)
		}
		f.stop()
	}
}

// crowd is a set of subscribers of a group.
type crowd struct {
	f       *groupFixture
	left    sync.WaitGroup // uncompleted tasks
	members []*member
}

// member completes, fails and releases its tasks, and grants new credit for them.
type member struct {
	c       *crowd
	sub     atomic.Pointer[GroupSubscription]
	allowed atomic.Int64 // unused credit
	mu      sync.Mutex
	rng     *rand.Rand
}

func (c *crowd) join(queues []string, credit int, seed uint64) {
	m := &member{c: c, rng: rand.New(rand.NewPCG(seed, 1))}
	c.members = append(c.members, m)
	sub, err := c.f.Subscribe(queue.Claim{Tenant: tenant, Queues: queues}, m.deliver, func(err error) { c.f.t.Errorf("failed: %v", err) }, nil)
	require.NoError(c.f.t, err)
	m.sub.Store(sub)
	m.allowed.Store(int64(credit))
	require.NoError(c.f.t, sub.Credit(credit))
}

func (m *member) deliver(shard uint16, ds []queue.Delivery) {
	if left := m.allowed.Add(-int64(len(ds))); left < 0 {
		m.c.f.t.Errorf("%d tasks above the credit", -left)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range ds {
		s := leased{shard, d}.settlement(queue.Complete)
		if d.Attempt == 1 {
			s.Action = []queue.Action{queue.Complete, queue.Complete, queue.Fail}[m.rng.IntN(3)]
		}
		if m.rng.IntN(10) == 0 {
			s.Action = queue.Release
		}
		assert.NoError(m.c.f.t, m.c.f.Settle(tenant, []queue.Settlement{s}, func(outcomes []error, err error) {
			assert.NoError(m.c.f.t, err)
			assert.NoError(m.c.f.t, outcomes[0])
			m.allowed.Add(1)
			assert.NoError(m.c.f.t, m.sub.Load().Credit(1))
			if s.Action == queue.Complete {
				m.c.left.Done()
			}
		}))
	}
}

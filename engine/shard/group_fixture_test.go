package shard

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// groupFixture is a group on stores in memory, with a clock that the test controls.
type groupFixture struct {
	t      *testing.T
	stores []*storage.Store
	nowMs  atomic.Int64
	*Group
}

func openStores(t *testing.T, fs vfs.FS, n int) []*storage.Store {
	t.Helper()
	stores := make([]*storage.Store, n)
	for i := range stores {
		var err error
		stores[i], err = storage.Open(fmt.Sprintf("shard%d", i), storage.Options{
			FS: fs, Durability: storage.Sync,
			Fatal: func(problem string) { t.Errorf("the store failed: %s", problem) },
		})
		require.NoError(t, err)
	}
	return stores
}

// startGroup opens n stores on fs and a group on them. of, if not nil, changes the options of a
// shard.
func startGroup(t *testing.T, fs vfs.FS, n int, of func(shard int, o *Options)) *groupFixture {
	t.Helper()
	return startGroupAt(t, fs, n, 1_000, of)
}

// startGroupAt is startGroup at a time.
func startGroupAt(t *testing.T, fs vfs.FS, n int, nowMs int64, of func(shard int, o *Options)) *groupFixture {
	t.Helper()
	f := &groupFixture{t: t, stores: openStores(t, fs, n)}
	f.nowMs.Store(nowMs)
	var err error
	f.Group, err = NewGroup(f.stores, func(i int) Options {
		o := Options{NowMs: f.nowMs.Load}
		if of != nil {
			of(i, &o)
		}
		return o
	})
	require.NoError(t, err)
	return f
}

func (f *groupFixture) stop() {
	f.t.Helper()
	f.Close()
	for _, s := range f.stores {
		require.NoError(f.t, s.Close())
	}
}

// pin makes a queue ordered, only in the group's memory.
func (f *groupFixture) pin(name string) {
	f.places.follow(queueName{tenant, name}, &queue.Policy{Placement: queue.Ordered}, 1)
}

func (f *groupFixture) enqueueLater(tasks ...queue.NewTask) <-chan reply[[]queue.Enqueued] {
	f.t.Helper()
	return ask(f.t, func(r func([]queue.Enqueued, error)) error { return f.Enqueue(tenant, tasks, r) })
}

// enqueue stores tasks that must be accepted.
func (f *groupFixture) enqueue(tasks ...queue.NewTask) []queue.Enqueued {
	f.t.Helper()
	got := receive(f.t, f.enqueueLater(tasks...))
	require.NoError(f.t, got.err)
	for _, e := range got.value {
		require.NoError(f.t, e.Err)
	}
	return got.value
}

func (f *groupFixture) enqueueAt(shard int, tasks ...queue.NewTask) {
	f.t.Helper()
	got := receive(f.t, ask(f.t, func(r func([]queue.Enqueued, error)) error {
		return f.here.Load().shards[shard].Enqueue(tenant, tasks, r)
	}))
	require.NoError(f.t, got.err)
}

func (f *groupFixture) settle(settlements ...queue.Settlement) []error {
	f.t.Helper()
	got := receive(f.t, ask(f.t, func(r func([]error, error)) error { return f.Settle(tenant, settlements, r) }))
	require.NoError(f.t, got.err)
	return got.value
}

func (f *groupFixture) stats() map[string]queue.Stats {
	f.t.Helper()
	got := receive(f.t, ask(f.t, f.Stats))
	require.NoError(f.t, got.err)
	out := map[string]queue.Stats{}
	for _, q := range got.value {
		require.NotContains(f.t, out, q.Name)
		out[q.Name] = q
	}
	return out
}

// leased is a task that a test received, and the shard that leased it.
type leased struct {
	shard uint16
	queue.Delivery
}

func (l leased) settlement(a queue.Action) queue.Settlement {
	return queue.Settlement{Shard: l.shard, Ref: l.Ref, Token: l.Token, Action: a, Error: "oops"}
}

// groupWorker is a subscription that sends each delivered task to a channel.
type groupWorker struct {
	*GroupSubscription
	tasks     chan leased
	cancelled chan ended
	grants    atomic.Int32
	failed    chan error
}

func (f *groupFixture) work(c queue.Claim) *groupWorker {
	f.t.Helper()
	w := &groupWorker{tasks: make(chan leased, 100_000), cancelled: make(chan ended, 100_000), failed: make(chan error, 10)}
	c.Tenant = tenant
	sub, err := f.Subscribe(c, func(shard uint16, ds []queue.Delivery) {
		w.grants.Add(1)
		for _, d := range ds {
			w.tasks <- leased{shard, d}
		}
	}, func(err error) { w.failed <- err }, func(shard uint16, ref queue.Ref, token uint64) { w.cancelled <- ended{shard, ref, token} })
	require.NoError(f.t, err)
	w.GroupSubscription = sub
	return w
}

// end closes the subscription and returns the tasks that arrived until then.
func (f *groupFixture) end(w *groupWorker) (rest []leased) {
	f.t.Helper()
	closed := make(chan struct{})
	w.Close(func() { close(closed) })
	receive(f.t, closed)
	for len(w.tasks) > 0 {
		rest = append(rest, <-w.tasks)
	}
	return rest
}

// claim leases up to n ready tasks, without waiting.
func (f *groupFixture) claim(n int, queues ...string) []leased {
	f.t.Helper()
	var mu sync.Mutex
	var out []leased
	done := make(chan error, 2)
	require.NoError(f.t, f.Claim(queue.Claim{Tenant: tenant, Queues: queues, Credit: n}, func(all []Granted, err error) {
		mu.Lock()
		defer mu.Unlock()
		for _, part := range all {
			for _, d := range part.Tasks {
				out = append(out, leased{part.Shard, d})
			}
		}
		done <- err
	}))
	require.NoError(f.t, receive(f.t, done))
	mu.Lock()
	defer mu.Unlock()
	return out
}

// audit checks that the counters agree with the stored tasks.
func (f *groupFixture) audit() map[string]Audited {
	f.t.Helper()
	audited, err := f.Audit()
	require.NoError(f.t, err)
	out := map[string]Audited{}
	for _, a := range audited {
		c := a.Counts
		require.Equal(f.t, a.Stored, c.Fresh+c.Returned+c.Leased+c.Dead, "%s: counters against stored tasks", a.Name)
		require.Equal(f.t, c.Enqueued, c.Completed+a.Stored, "%s: counters", a.Name)
		require.Equal(f.t, a.Found, a.Counted, "%s: tasks by state", a.Name)
		require.NotContains(f.t, out, a.Name)
		out[a.Name] = a
	}
	return out
}

// until yields to other goroutines until a condition holds. It checks often, for conditions that
// hold soon.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	for start := time.Now(); !holds(); runtime.Gosched() {
		require.Less(t, time.Since(start), waitMost)
	}
}

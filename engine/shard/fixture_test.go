package shard

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/internal/waittest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	waitMost = waittest.Most
	waitStep = time.Millisecond
	tenant   = "t"
)

// fixture is a shard on a store in memory, with a clock that the test controls.
type fixture struct {
	t     *testing.T
	store *storage.Store
	nowMs atomic.Int64
	// broken is set by a test that breaks the disk: a failure of the store is then expected.
	broken atomic.Bool
	*Shard
}

// start opens a store on fs and a shard on it. The test ends it with stop, or by crashing.
func start(t *testing.T, fs vfs.FS, o Options) *fixture {
	t.Helper()
	f := &fixture{t: t}
	f.nowMs.Store(1_000)
	if o.NowMs == nil {
		o.NowMs = f.nowMs.Load
	}
	var err error
	f.store, err = storage.Open("shard", storage.Options{
		FS: fs, Durability: storage.Sync, Stalls: o.Stalls,
		Fatal: func(problem string) {
			if !f.broken.Load() {
				t.Errorf("the store failed: %s", problem)
			}
		},
	})
	require.NoError(t, err)
	f.Shard, err = New(f.store, o)
	require.NoError(t, err)
	return f
}

func (f *fixture) stop() {
	f.t.Helper()
	f.Close()
	require.NoError(f.t, f.store.Close())
}

// pass advances the clock and wakes the shard, whose timer uses real time.
func (f *fixture) pass(ms int64) {
	f.t.Helper()
	f.nowMs.Add(ms)
	f.stats()
}

// reply is the answer to a command.
type reply[T any] struct {
	value T
	err   error
}

// receive returns the next element of a channel. The test fails if none arrives in time.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(waitMost):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// ask sends a command and returns the channel of its answer.
func ask[T any](t *testing.T, send func(reply func(T, error)) error) <-chan reply[T] {
	t.Helper()
	c := make(chan reply[T], 2) // room for a second answer, so that the test sees it
	require.NoError(t, send(func(v T, err error) { c <- reply[T]{v, err} }))
	return c
}

func newTasks(q string, n int) []queue.NewTask {
	out := make([]queue.NewTask, n)
	for i := range out {
		out[i] = queue.NewTask{Queue: q, Payload: []byte{byte(i)}}
	}
	return out
}

func (f *fixture) enqueueLater(tasks ...queue.NewTask) <-chan reply[[]queue.Enqueued] {
	f.t.Helper()
	return ask(f.t, func(r func([]queue.Enqueued, error)) error { return f.Enqueue(tenant, tasks, r) })
}

func (f *fixture) enqueue(tasks ...queue.NewTask) []queue.Ref {
	f.t.Helper()
	got := receive(f.t, f.enqueueLater(tasks...))
	require.NoError(f.t, got.err)
	refs := make([]queue.Ref, len(got.value))
	for i, e := range got.value {
		require.NoError(f.t, e.Err)
		refs[i] = e.Ref
	}
	return refs
}

func (f *fixture) settle(tenant string, settlements ...queue.Settlement) []error {
	f.t.Helper()
	got := receive(f.t, ask(f.t, func(r func([]error, error)) error { return f.Settle(tenant, settlements, r) }))
	require.NoError(f.t, got.err)
	return got.value
}

func (f *fixture) end(d queue.Delivery, a queue.Action) {
	f.t.Helper()
	require.Equal(f.t, []error{nil}, f.settle(tenant, queue.Settlement{Ref: d.Ref, Token: d.Token, Action: a, Error: "oops"}))
}

func (f *fixture) lookup(tenant string, ref queue.Ref) (Found, error) {
	f.t.Helper()
	got := receive(f.t, ask(f.t, func(r func(Found, error)) error { return f.Lookup(tenant, ref, r) }))
	return got.value, got.err
}

func (f *fixture) stats() []queue.Stats {
	f.t.Helper()
	got := receive(f.t, ask(f.t, f.Stats))
	require.NoError(f.t, got.err)
	return got.value
}

// worker is a subscription that sends each delivered task to a channel.
type worker struct {
	*Subscription
	tasks     chan queue.Delivery
	cancelled chan ended
	failed    chan error
}

// ended is a lease whose task was cancelled.
type ended struct {
	shard uint16
	ref   queue.Ref
	token uint64
}

func (f *fixture) work(c queue.Claim) *worker {
	f.t.Helper()
	w := &worker{tasks: make(chan queue.Delivery, 10_000), cancelled: make(chan ended, 10_000), failed: make(chan error, 2)}
	if c.Tenant == "" {
		c.Tenant = tenant
	}
	sub, err := f.Subscribe(c, func(ds []queue.Delivery) {
		for _, d := range ds {
			w.tasks <- d
		}
	}, func(err error) { w.failed <- err }, func(ref queue.Ref, token uint64) { w.cancelled <- ended{0, ref, token} })
	require.NoError(f.t, err)
	w.Subscription = sub
	return w
}

// claim leases up to n ready tasks, without waiting.
func (f *fixture) claim(n int, queues ...string) []queue.Delivery {
	f.t.Helper()
	w := f.work(queue.Claim{Queues: queues, Credit: n, Once: true})
	closed := make(chan struct{})
	w.Close(func() { close(closed) })
	receive(f.t, closed)
	var out []queue.Delivery
	for len(w.tasks) > 0 {
		out = append(out, <-w.tasks)
	}
	return out
}

func (f *fixture) audit() []storage.AuditedQueue {
	f.t.Helper()
	audited, err := f.store.Audit(f.nowMs.Load())
	require.NoError(f.t, err)
	for _, a := range audited {
		c := a.Counts
		require.Equal(f.t, a.Stored, c.Fresh+c.Returned+c.Leased+c.Dead, "%s: counters against stored tasks", a.Name)
		require.Equal(f.t, c.Enqueued, c.Completed+c.Removed+a.Stored, "%s: counters", a.Name)
		require.Equal(f.t, a.Found, a.Counted, "%s: tasks by state", a.Name)
	}
	return audited
}

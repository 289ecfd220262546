package shard

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// A claim that does not wait gets all ready tasks up to its credit, including tasks that are only
// in the store.
func TestClaimThatDoesNotWaitGetsWhatIsReady(t *testing.T) {
	fs := vfs.NewMem()
	small := Options{Queue: queue.Config{WindowTasks: 3}}
	f := start(t, fs, small)
	assert.Empty(t, f.claim(10, "q"))
	for range 5 {
		f.enqueue(newTasks("q", 4)...)
	}
	assert.Len(t, f.claim(2, "q"), 2)
	f.enqueue(queue.NewTask{Queue: "q", DelayMs: 10}, queue.NewTask{Queue: "q", Priority: 9}, queue.NewTask{Queue: "q", DelayMs: 11})
	f.enqueue(newTasks("r", 7)...)
	f.stop()

	f = start(t, fs, small) // the windows are empty now
	defer f.stop()
	f.nowMs.Store(1_010)
	ds := f.claim(14, "q")
	require.Len(t, ds, 14)
	assert.Equal(t, uint64(21), ds[0].Seq, "the most urgent task")
	for i, d := range ds[1:] {
		assert.Equal(t, uint64(2+i), d.Seq)
		assert.Equal(t, int64(1_010+30_000), d.ExpiresAtMs)
	}
	rest := f.claim(100, "q", "r")
	require.Len(t, rest, 6+7)
	rest = slices.DeleteFunc(rest, func(d queue.Delivery) bool { return d.Queue.Name() == "r" })
	assert.Equal(t, uint64(20), rest[5].Seq, "the others were enqueued before the due time")
	assert.Empty(t, f.claim(10, "q", "r"), "the rest is leased or delayed")
	f.audit()
	for _, d := range ds {
		f.end(d, queue.Complete)
	}
}

// The leases of a claim survive a restart, also if the store was read between parts of its grant.
func TestClaimAcrossWindowsSurvivesARestart(t *testing.T) {
	fs := vfs.NewMem()
	f := start(t, fs, Options{Queue: queue.Config{WindowTasks: 2}})
	f.enqueue(newTasks("q", 9)...)
	ds := f.claim(7, "q")
	require.Len(t, ds, 7)
	f.stop()
	f = start(t, fs, Options{Queue: queue.Config{WindowTasks: 2}})
	defer f.stop()
	assert.Len(t, f.claim(9, "q"), 2)
	seen := map[uint64]bool{}
	for _, d := range ds {
		assert.False(t, seen[d.Token], "tokens are unique")
		seen[d.Token] = true
		f.end(d, queue.Complete)
	}
	f.audit()
}

// A claim that waits is answered once, with the first tasks that arrive.
func TestClaimThatWaitsGetsOneGrant(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{Queue: queue.Config{WindowTasks: 2}})
	defer f.stop()
	grants := make(chan []queue.Delivery, 10)
	_, err := f.Subscribe(queue.Claim{Tenant: tenant, Queues: []string{"q"}, Credit: 10, Once: true},
		func(ds []queue.Delivery) { grants <- ds }, func(err error) { t.Errorf("failed: %v", err) }, nil)
	require.NoError(t, err)
	f.enqueue(newTasks("q", 7)...)
	assert.Len(t, receive(t, grants), 7)
	f.enqueue(newTasks("q", 7)...)
	f.stats()
	assert.Empty(t, grants)
}

// A task that is cancelled between its lease and its reading is not delivered. The worker gets the
// credit back, and a claim can still get its grant.
func TestTaskThatIsGoneBeforeItIsReadCostsNothing(t *testing.T) {
	for name, once := range map[string]bool{"stream": false, "claim": true} {
		t.Run(name, func(t *testing.T) {
			disk, fs := newSlowLog()
			f := start(t, fs, Options{Queue: queue.Config{CacheBytesMax: 1}})
			defer f.stop()
			defer disk.letGo()
			// More bytes than a waiter may hold.
			ref := f.enqueue(queue.NewTask{Queue: "q", Payload: make([]byte, 9<<20)})[0]

			disk.held.Store(true)
			w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 1, Once: once})
			receive(t, disk.entered)
			cancelled := ask(t, func(r func([]error, error)) error { return f.Change(Cancel, tenant, []queue.Ref{ref}, r) })
			require.Eventually(t, func() bool {
				_, found, err := f.store.Task(ref)
				return err == nil && !found
			}, waitMost, waitStep)
			disk.letGo()
			assert.Equal(t, []error{nil}, receive(t, cancelled).value)

			next := f.enqueue(newTasks("q", 1)...)[0]
			assert.Equal(t, next, receive(t, w.tasks).Ref)
			assert.Empty(t, w.tasks)
		})
	}
}

// A refill sees the decisions of the previous one. Here the sweep of expired tasks and the window's
// refill coincide.
func TestTasksThatExpireWhileAWindowIsReadDieOnce(t *testing.T) {
	fs := vfs.NewMem()
	f := start(t, fs, Options{Queue: queue.Config{WindowTasks: 2}})
	defer f.stop()
	for _, delay := range []uint64{0, 10} {
		for range 3 {
			f.enqueue(
				queue.NewTask{Queue: "q", TTLMs: 100, DelayMs: delay}, queue.NewTask{Queue: "q", TTLMs: 100, DelayMs: delay},
				queue.NewTask{Queue: "q", DelayMs: delay},
			)
		}
	}
	f.nowMs.Add(100)
	ds := f.claim(20, "q")
	assert.Len(t, ds, 6)
	st := f.stats()[0]
	assert.Equal(t, []uint64{0, 0, 6, 12}, []uint64{st.Ready, st.Delayed, st.Leased, st.Dead})
	f.audit()
}

// Other commands are decided while many tasks expire, because each part of the sweep is a separate
// turn.
func TestExpiryOfManyTasksLetsOthersHaveTheirTurn(t *testing.T) {
	var commits atomic.Int64
	f := start(t, vfs.NewMem(), Options{Observe: func(CommitStats) { commits.Add(1) }})
	defer f.stop()
	tasks := newTasks("q", 5_000)
	for i := range tasks {
		tasks[i].TTLMs = 100
	}
	f.enqueue(tasks...)
	require.Equal(t, int64(1), commits.Load())
	f.nowMs.Add(100)
	require.Eventually(t, func() bool { return f.stats()[0].Dead == 5_000 }, waitMost, waitStep)
	assert.GreaterOrEqual(t, commits.Load(), int64(1+5))
	f.audit()
}

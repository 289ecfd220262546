package shard

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/queue"
)

// inBubble runs a test of a shard in which time passes only while all goroutines wait. A goroutine
// that never waits would block the test. asked counts how often the deciding goroutine reads its
// clock.
func inBubble(t *testing.T, o Options, test func(t *testing.T, f *fixture, asked *atomic.Int64)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		now := clock.New().NowMs
		o.NowMs = func() int64 { asked.Add(1); return now() }
		f := start(t, vfs.NewMem(), o)
		test(t, f, &asked)
		f.stop()
		synctest.Wait()
	})
}

// hour lets an hour pass and returns how often the shard read its clock: a few times per deadline.
func hour(asked *atomic.Int64) int64 {
	synctest.Wait()
	before := asked.Load()
	<-time.After(time.Hour)
	synctest.Wait()
	return asked.Load() - before
}

// looksPerWake bounds how often the deciding goroutine reads the clock each time that it wakes.
const looksPerWake = 6

func TestIdleShardSleeps(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, f *fixture, asked *atomic.Int64) {
		assert.Zero(t, hour(asked), "a new shard sleeps")
		f.enqueue(newTasks("q", 3)...)
		assert.LessOrEqual(t, hour(asked), int64(looksPerWake), "it wakes once, to return memory")
		assert.Zero(t, hour(asked), "no waiter wants the tasks")
		f.enqueue(queue.NewTask{Queue: "q", DelayMs: 1_800_000}, queue.NewTask{Queue: "q", TTLMs: 1_800_000}, queue.NewTask{Queue: "q", Key: "k"})
		assert.LessOrEqual(t, hour(asked), int64(4*looksPerWake), "it wakes for its deadlines: returning memory, a delay, a time to live, a bucket of keys")
		assert.Zero(t, hour(asked))
	})
}

// Thousands of workers without credit or at empty queues cost no CPU time and little memory.
func TestThousandsOfIdleSubscriptionsCostLittle(t *testing.T) {
	const subscriptions = 5_000
	inBubble(t, Options{}, func(t *testing.T, f *fixture, asked *atomic.Int64) {
		f.enqueue(newTasks("full", 100)...)
		f.enqueue(newTasks("empty", 1)...)
		f.end(f.claim(1, "empty")[0], queue.Complete)
		require.Len(t, f.claim(1, "full"), 1)
		subscribe := func(credit int, queues ...string) (subs []*Subscription) {
			for range subscriptions {
				sub, err := f.Subscribe(queue.Claim{Tenant: tenant, Queues: queues, Credit: credit},
					func([]queue.Delivery) { t.Error("a task was delivered") }, func(err error) { t.Errorf("failed: %v", err) }, nil)
				require.NoError(t, err)
				subs = append(subs, sub)
			}
			f.stats()
			return subs
		}
		heap := func() uint64 {
			synctest.Wait()
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := heap()
		all := append(subscribe(0, "full", "empty"), subscribe(10, "empty")...)
		assert.Less(t, (heap()-min(before, heap()))/(2*subscriptions), uint64(2_000), "bytes per subscription")
		assert.LessOrEqual(t, hour(asked), int64(2*looksPerWake), "it wakes for the one lease")
		assert.Zero(t, hour(asked))
		for _, sub := range all {
			sub.Close(func() {})
		}
		f.stats()
	})
}

// A worker that never settles gets its tasks again when their leases expire, until the tasks are
// dead. Afterwards the shard sleeps and keeps no state for the worker.
func TestConsumerThatNeverSettlesComesToAnEnd(t *testing.T) {
	const tasks, attempts = 300, 3
	inBubble(t, Options{Queue: queue.Config{WindowTasks: 50}}, func(t *testing.T, f *fixture, asked *atomic.Int64) {
		w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 10_000, LeaseMs: 1_000})
		for range tasks {
			f.enqueue(queue.NewTask{Queue: "q", MaxAttempts: attempts})
		}
		woken := hour(asked)
		assert.LessOrEqual(t, woken, int64(tasks*attempts*looksPerWake))
		assert.Len(t, w.tasks, tasks*attempts)
		st := f.stats()[0]
		assert.Equal(t, []uint64{0, 0, 0, tasks}, []uint64{st.Ready, st.Delayed, st.Leased, st.Dead})
		assert.Zero(t, hour(asked))
		recovered, err := f.store.Recover()
		require.NoError(t, err)
		assert.Empty(t, recovered.Leases)
		f.audit()
	})
}

// A worker that never calls Sent gets a bounded number of bytes, independent of its credit. Other
// workers get the rest.
func TestConsumerThatTakesNothingIsGivenABoundedNumberOfBytes(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, f *fixture, asked *atomic.Int64) {
		w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 1_000, LeaseMs: 1_000})
		for range 20 {
			f.enqueue(queue.NewTask{Queue: "q", Payload: make([]byte, 1<<20), MaxAttempts: 100})
		}
		hour(asked)
		assert.Len(t, w.tasks, 8)
		assert.Zero(t, hour(asked))
		other := f.work(queue.Claim{Queues: []string{"q"}, Credit: 12})
		f.stats()
		assert.Zero(t, len(w.tasks)-8)
		assert.Len(t, other.tasks, 8)
		require.NoError(t, other.Sent(8<<20))
		f.stats()
		assert.Len(t, other.tasks, 12)
	})
}

// quota is an account with room for no leases.
type quota struct{ queue.Account }

func (quota) Add(int64) error             { return nil }
func (quota) Charge(int64) error          { return nil }
func (quota) Remove(int64, int64)         {}
func (quota) Lease(int) int               { return 0 }
func (quota) EndLeases(int)               {}
func (quota) Restore(int64, int64, int64) {}

// When a tenant is at its quota of leases, its workers make the shard check for room a bounded
// number of times, and never while no task is ready.
func TestQuotaOfLeasesIsLookedAtNowAndThen(t *testing.T) {
	o := Options{Queue: queue.Config{Account: func(string) queue.Account { return quota{} }}}
	inBubble(t, o, func(t *testing.T, f *fixture, asked *atomic.Int64) {
		for range 100 {
			f.work(queue.Claim{Queues: []string{"a", "b", "c"}, Credit: 10})
		}
		f.stats()
		assert.Zero(t, hour(asked))
		f.enqueue(newTasks("a", 10)...)
		assert.LessOrEqual(t, hour(asked), int64(3_600*20*looksPerWake))
	})
}

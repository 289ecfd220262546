package shard

import (
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/queue"
)

// account is what the clients of a shard know.
type account struct {
	mu        sync.Mutex
	enqueued  map[queue.Ref]bool // acknowledged
	asked     map[queue.Ref]bool // were asked to be completed
	completed map[queue.Ref]bool // acknowledged
}

func (a *account) note(in map[queue.Ref]bool, ref queue.Ref) {
	a.mu.Lock()
	defer a.mu.Unlock()
	in[ref] = true
}

func (a *account) copy(in map[queue.Ref]bool) map[queue.Ref]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(in)
}

// load enqueues n tasks, one command each, and completes every task that is delivered but each
// seventh, which fails first.
func (f *fixture) load(a *account, n int) (finished *sync.WaitGroup) {
	finished = &sync.WaitGroup{}
	finished.Add(n)
	_, err := f.Subscribe(queue.Claim{Tenant: tenant, Queues: []string{"q"}, Credit: 2 * n}, func(ds []queue.Delivery) {
		for _, d := range ds {
			s := queue.Settlement{Ref: d.Ref, Token: d.Token, Action: queue.Complete}
			if d.Seq%7 == 0 && d.Attempt == 1 {
				s.Action, s.DelayMs = queue.Fail, 1
			} else {
				a.note(a.asked, d.Ref)
			}
			err := f.Settle(tenant, []queue.Settlement{s}, func(outcomes []error, err error) {
				if err == nil && outcomes[0] == nil && s.Action == queue.Complete {
					a.note(a.completed, s.Ref)
					finished.Done()
				}
			})
			assert.NoError(f.t, err)
		}
	}, func(err error) { f.t.Errorf("the subscription failed: %v", err) })
	require.NoError(f.t, err)
	for range n {
		require.NoError(f.t, f.Enqueue(tenant, newTasks("q", 1), func(e []queue.Enqueued, err error) {
			if assert.NoError(f.t, err) {
				a.note(a.enqueued, e[0].Ref)
			}
		}))
	}
	return finished
}

// Power goes at moments that nobody chose, while tasks are enqueued, claimed, failed and completed.
// What was acknowledged holds: no task is lost, none that is done comes back, the counters agree
// with the tasks, and tokens go on upward.
func TestPowerLossKeepsWhatWasAcknowledged(t *testing.T) {
	disk := vfs.NewCrashableMem()
	f := start(t, disk, Options{NowMs: clock.New().NowMs, Queue: queue.Config{WindowTasks: 8, CacheBytesMax: 64}})
	a := &account{enqueued: map[queue.Ref]bool{}, asked: map[queue.Ref]bool{}, completed: map[queue.Ref]bool{}}
	finished := f.load(a, 1_500)

	type crash struct {
		disk                       *vfs.MemFS
		enqueued, asked, completed map[queue.Ref]bool
	}
	var crashes []crash
	for seed := range uint64(6) {
		require.Eventually(t, func() bool { return len(a.copy(a.completed)) >= int(seed)*200 }, waitMost, waitStep)
		c := crash{enqueued: a.copy(a.enqueued), completed: a.copy(a.completed)} // acknowledged before
		c.disk = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(seed) * 15, RNG: rand.New(rand.NewPCG(seed, 1))})
		c.asked = a.copy(a.asked) // at least what may have been decided before
		crashes = append(crashes, c)
	}
	done := make(chan struct{})
	go func() { finished.Wait(); close(done) }()
	receive(t, done)
	f.stop()

	for _, c := range crashes {
		f := start(t, c.disk, Options{})
		f.audit()
		for ref := range c.enqueued {
			_, found, err := f.store.Task(ref)
			require.NoError(t, err)
			if !c.asked[ref] {
				require.True(t, found, "task %v was acknowledged and is lost", ref)
			}
			if c.completed[ref] {
				require.False(t, found, "task %v was completed and is back", ref)
			}
		}
		f.drain()
		f.stop()
	}
}

// Each time that the log is synced, what the disk holds is whole: a decision that reads the store
// half-way is committed in parts, and each part agrees with itself.
func TestEachDurableMomentIsWhole(t *testing.T) {
	disk := vfs.NewCrashableMem()
	var mu sync.Mutex
	var moments []*vfs.MemFS
	f := start(t, errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if isLogSync(op) {
			mu.Lock()
			defer mu.Unlock()
			moments = append(moments, disk.CrashClone(vfs.CrashCloneCfg{})) // before this sync
		}
		return nil
	})), Options{Queue: queue.Config{WindowTasks: 2}})
	w := f.work(queue.Claim{Queues: []string{"q"}, Credit: 100})
	for range 5 {
		f.enqueue(newTasks("q", 9)...)
		for range 9 {
			f.end(receive(t, w.tasks), queue.Complete)
		}
	}
	f.stop()
	require.Greater(t, len(moments), 20)
	for _, m := range moments {
		f := start(t, m, Options{})
		f.audit()
		f.stop()
	}
}

// drain waits out all leases and completes whatever is left: each task once.
func (f *fixture) drain() {
	f.t.Helper()
	f.nowMs.Store(clock.New().NowMs() + 3_600_000)
	seen := map[queue.Ref]bool{}
	for {
		ds := f.claim(100, "q")
		if len(ds) == 0 {
			break
		}
		for _, d := range ds {
			require.False(f.t, seen[d.Ref], "task %v is delivered twice", d.Ref)
			seen[d.Ref] = true
			f.end(d, queue.Complete)
		}
	}
	for _, q := range f.audit() {
		require.Zero(f.t, q.Stored)
		require.Equal(f.t, q.Counts.Enqueued, q.Counts.Completed)
	}
}

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

// account records what the clients of a shard requested and what was acknowledged.
type account struct {
	mu        sync.Mutex
	enqueued  map[queue.Ref]bool // acknowledged
	asked     map[queue.Ref]bool // a completion was requested
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

// load enqueues n tasks, one per command, and completes every delivered task. Each seventh task
// fails first.
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
	}, func(err error) { f.t.Errorf("the subscription failed: %v", err) }, nil)
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

// The power fails at arbitrary moments while tasks are enqueued, claimed, failed and completed. All
// acknowledged changes must survive: no task is lost, no completed task returns, the counters agree
// with the tasks, and tokens continue to grow.
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
		// These were acknowledged before the copy.
		c := crash{enqueued: a.copy(a.enqueued), completed: a.copy(a.completed)}
		c.disk = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(seed) * 15, RNG: rand.New(rand.NewPCG(seed, 1))})
		// a superset of the tasks that may have been decided before the copy
		c.asked = a.copy(a.asked)
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
				require.True(t, found, "acknowledged task %v is lost", ref)
			}
			if c.completed[ref] {
				require.False(t, found, "completed task %v exists again", ref)
			}
		}
		f.drain()
		f.stop()
	}
}

// The disk has a consistent state at each fsync of the log. A turn that reads the store during its
// decision is committed in parts, and each part must be consistent.
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

// drain lets all leases expire and completes the remaining tasks, each once.
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
			require.False(f.t, seen[d.Ref], "task %v was delivered twice", d.Ref)
			seen[d.Ref] = true
			f.end(d, queue.Complete)
		}
	}
	for _, q := range f.audit() {
		require.Zero(f.t, q.Stored)
		require.Equal(f.t, q.Counts.Enqueued, q.Counts.Completed)
	}
}

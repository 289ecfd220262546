package shard

import (
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/queue"
)

// groupAccount records what the clients of a group requested and what was acknowledged.
type groupAccount struct {
	mu                         sync.Mutex
	enqueued, asked, completed map[queue.ID]bool
}

func (a *groupAccount) note(in map[queue.ID]bool, shard uint16, ref queue.Ref) {
	a.mu.Lock()
	defer a.mu.Unlock()
	in[queue.ID{Shard: shard, Ref: ref}] = true
}

func (a *groupAccount) copy(in map[queue.ID]bool) map[queue.ID]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(in)
}

// The power fails while three shards run, each with a separate log. A call that spans shards may be
// stored in part, but all acknowledged items survive.
func TestPowerLossKeepsWhatAGroupAcknowledged(t *testing.T) {
	const shards, calls = 3, 300
	disk := vfs.NewCrashableMem()
	f := startGroup(t, disk, shards, func(_ int, o *Options) {
		o.NowMs, o.Queue = clock.New().NowMs, queue.Config{WindowTasks: 8, CacheBytesMax: 64}
	})
	names := []string{"a", "b", "c", "d"}
	for _, n := range names[:3] {
		f.pin(n)
	}
	a := &groupAccount{enqueued: map[queue.ID]bool{}, asked: map[queue.ID]bool{}, completed: map[queue.ID]bool{}}
	var finished sync.WaitGroup
	finished.Add(calls * len(names))
	sub, err := f.Subscribe(queue.Claim{Tenant: tenant, Queues: names, Credit: calls * len(names)}, func(shard uint16, ds []queue.Delivery) {
		var batch []queue.Settlement
		for _, d := range ds {
			a.note(a.asked, shard, d.Ref)
			batch = append(batch, leased{shard, d}.settlement(queue.Complete))
		}
		assert.NoError(t, f.Settle(tenant, batch, func(outcomes []error, err error) {
			for i, outcome := range outcomes {
				if err == nil && outcome == nil {
					a.note(a.completed, batch[i].Shard, batch[i].Ref)
					finished.Done()
				}
			}
		}))
	}, func(err error) { t.Errorf("the subscription failed: %v", err) }, nil)
	require.NoError(t, err)
	for range calls {
		tasks := make([]queue.NewTask, len(names))
		for i, n := range names {
			tasks[i] = queue.NewTask{Queue: n}
		}
		require.NoError(t, f.Enqueue(tenant, tasks, func(out []queue.Enqueued, err error) {
			if assert.NoError(t, err) {
				for _, e := range out {
					a.note(a.enqueued, e.Shard, e.Ref)
				}
			}
		}))
	}
	type crash struct {
		disk                       *vfs.MemFS
		enqueued, asked, completed map[queue.ID]bool
	}
	var crashes []crash
	for seed := range uint64(5) {
		require.Eventually(t, func() bool { return len(a.copy(a.completed)) >= int(seed)*200 }, waitMost, waitStep)
		// These were acknowledged before the copy.
		c := crash{enqueued: a.copy(a.enqueued), completed: a.copy(a.completed)}
		c.disk = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(seed) * 20, RNG: rand.New(rand.NewPCG(seed, 1))})
		// a superset of the tasks that may have been decided before the copy
		c.asked = a.copy(a.asked)
		crashes = append(crashes, c)
	}
	done := make(chan struct{})
	go func() { finished.Wait(); close(done) }()
	receive(t, done)
	sub.Close(func() {})
	f.stop()

	for _, c := range crashes {
		f := startGroup(t, c.disk, shards, nil)
		f.audit()
		for id := range c.enqueued {
			_, found, err := f.stores[id.Shard].Task(id.Ref)
			require.NoError(t, err)
			if !c.asked[id] {
				require.True(t, found, "acknowledged task %v is lost", id)
			}
			if c.completed[id] {
				require.False(t, found, "completed task %v exists again", id)
			}
		}
		f.drain(names)
		f.stop()
	}
}

// drain lets all leases expire and completes the remaining tasks, each once.
func (f *groupFixture) drain(names []string) {
	f.t.Helper()
	f.nowMs.Store(clock.New().NowMs() + 3_600_000)
	for {
		ds := f.claim(100, names...)
		if len(ds) == 0 {
			break
		}
		for _, d := range ds {
			require.Equal(f.t, []error{nil}, f.settle(d.settlement(queue.Complete)), "the task was delivered twice")
		}
	}
	for _, q := range f.audit() {
		require.Zero(f.t, q.Stored)
	}
}

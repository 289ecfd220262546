package shard

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/clock"
	"github.com/pronybench/prony/engine/internal/unsynced"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// startCounted opens a shard on fs and returns it with its window of loss.
func startCounted(t *testing.T, fs vfs.FS, d storage.Durability, interval time.Duration) (*fixture, *unsynced.Window) {
	t.Helper()
	w := unsynced.New(nil)
	f := &fixture{t: t}
	f.nowMs.Store(1_000)
	var err error
	f.store, err = storage.Open("shard", storage.Options{
		FS: fs, Durability: d, SyncInterval: interval, MemTableBytes: 64 << 10, Unsynced: unsynced.Windows{w},
		Fatal: func(problem string) { t.Errorf("the store failed: %s", problem) },
	})
	require.NoError(t, err)
	f.Shard, err = New(f.store, Options{NowMs: clock.New().NowMs, Unsynced: w})
	require.NoError(t, err)
	return f, w
}

// powerCut is a copy of the disk at a loss of power, with the state of the clients at that moment.
type powerCut struct {
	disk                *vfs.MemFS
	enqueued, completed map[queue.Ref]bool // acknowledged
	said                unsynced.Loss
}

// powerCuts takes copies before random operations of the file system.
type powerCuts struct {
	mu    sync.Mutex
	rng   *rand.Rand
	mem   *vfs.MemFS
	a     *account
	w     *unsynced.Window // nil means no cuts
	taken []powerCut
}

// One in powerCutEvery of the changing operations is a cut, and at most powerCutsMax in one run.
const powerCutEvery, powerCutsMax = 5, 60

func (p *powerCuts) maybe(op errorfs.Op) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil && len(p.taken) < powerCutsMax && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && p.rng.IntN(powerCutEvery) == 0 {
		p.takeLocked()
	}
	return nil
}

func (p *powerCuts) takeLocked() {
	cut := powerCut{enqueued: p.a.copy(p.a.enqueued), completed: p.a.copy(p.a.completed)}
	// Read after the acknowledgements and before the copy: an fsync in between can only reduce the
	// loss.
	cut.said = p.w.Loss()
	cut.disk = p.mem.CrashClone(vfs.CrashCloneCfg{})
	p.taken = append(p.taken, cut)
}

// lost opens the disk and returns the number of lost acknowledgements.
func (c *powerCut) lost(t *testing.T) (n uint64) {
	t.Helper()
	store, err := storage.Open("shard", storage.Options{FS: c.disk, Durability: storage.Sync})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	from, err := store.Recover()
	require.NoError(t, err)
	next := map[uint32]uint64{}
	for _, q := range from.Queues {
		next[q.ID] = q.NextSeq
	}
	for ref := range c.enqueued {
		if ref.Seq >= next[ref.Queue] {
			n++
		}
	}
	for ref := range c.completed {
		_, there, err := store.LookHead(ref)
		require.NoError(t, err)
		if there || ref.Seq >= next[ref.Queue] {
			n++
		}
	}
	return n
}

// A loss of power at a random moment loses at most as many acknowledgements as the window of loss
// reports at that moment.
func TestALossOfPowerTakesNoMoreThanTheWindowSays(t *testing.T) {
	seeds := longtest.Count(t, 2, 40)
	for _, d := range []storage.Durability{storage.Sync, storage.Interval, storage.None} {
		t.Run(string(d), func(t *testing.T) {
			cuts, all := 0, uint64(0)
			for seed := range uint64(seeds) {
				mem := vfs.NewCrashableMem()
				a := &account{enqueued: map[queue.Ref]bool{}, asked: map[queue.Ref]bool{}, completed: map[queue.Ref]bool{}}
				p := &powerCuts{rng: rand.New(rand.NewPCG(seed, 11)), mem: mem, a: a}
				f, w := startCounted(t, errorfs.Wrap(mem, errorfs.InjectorFunc(p.maybe)), d, time.Millisecond)
				p.mu.Lock()
				p.w = w
				p.mu.Unlock()
				done := make(chan struct{})
				finished := f.load(a, 1_500)
				go func() { finished.Wait(); close(done) }()
				receive(t, done)
				p.mu.Lock()
				p.takeLocked()
				p.w = nil
				taken := p.taken
				p.mu.Unlock()
				f.stop()
				for i, cut := range taken {
					lost := cut.lost(t)
					require.LessOrEqual(t, lost, cut.said.Tasks, "seed %d, cut %d of %d", seed, i, len(taken))
					all += lost
				}
				cuts += len(taken)
			}
			t.Logf("%d losses of power lost %d acknowledgements", cuts, all)
			assert.Greater(t, cuts, 2*seeds)
			switch d {
			case storage.Sync:
				assert.Zero(t, all)
			case storage.None:
				assert.Positive(t, all)
			}
		})
	}
}

// The window counts enqueues and completions, but no refusals, claims and duplicates.
func TestTheWindowCountsEnqueuesAndCompletions(t *testing.T) {
	mem := vfs.NewCrashableMem()
	f, w := startCounted(t, mem, storage.None, 0)
	defer f.stop()
	// The first enqueue reserves numbers, so it is durable before its acknowledgement.
	f.enqueue(newTasks("first", 1)...)
	tasks := newTasks("q", 5)
	tasks[3].Key, tasks[4].Key = "k", "k" // the last one is a duplicate
	f.enqueue(tasks...)
	require.Equal(t, uint64(5), w.Loss().Tasks)
	ds := f.claim(3, "q")
	require.Len(t, ds, 3)
	require.Equal(t, uint64(5), w.Loss().Tasks)
	f.end(ds[0], queue.Complete)
	f.end(ds[1], queue.Release)
	require.Equal(t, uint64(6), w.Loss().Tasks)
	stale := queue.Settlement{Ref: ds[0].Ref, Token: ds[0].Token, Action: queue.Complete}
	got := receive(t, ask(t, func(r func([]error, error)) error { return f.Settle(tenant, []queue.Settlement{stale}, r) }))
	require.NoError(t, got.err)
	require.Error(t, got.value[0])
	require.Equal(t, uint64(6), w.Loss().Tasks)
	cut := powerCut{disk: mem.CrashClone(vfs.CrashCloneCfg{}), enqueued: map[queue.Ref]bool{}, completed: map[queue.Ref]bool{ds[0].Ref: true}}
	for _, d := range ds {
		cut.enqueued[d.Ref] = true
	}
	require.Equal(t, uint64(4), cut.lost(t), "3 enqueues and the completion")
}

// The window counts an acknowledgement before its answer is sent, so it includes every
// acknowledgement that a client has seen.
func TestTheWindowCountsBeforeTheAnswer(t *testing.T) {
	f, w := startCounted(t, vfs.NewCrashableMem(), storage.None, 0)
	defer f.stop()
	said := make(chan uint64, 1)
	require.NoError(t, f.Enqueue(tenant, newTasks("q", 3), func([]queue.Enqueued, error) { said <- w.Loss().Tasks }))
	require.Equal(t, uint64(3), receive(t, said))
	d := f.claim(1, "q")[0]
	require.NoError(t, f.Settle(tenant, []queue.Settlement{{Ref: d.Ref, Token: d.Token, Action: queue.Complete}}, func([]error, error) { said <- w.Loss().Tasks }))
	require.Equal(t, uint64(4), receive(t, said))
}

// BenchmarkAcknowledge measures the cost of counting the acknowledgements of a turn with 16
// commands of 64 tasks each, at durability sync and at the others.
func BenchmarkAcknowledge(b *testing.B) {
	for _, counts := range []bool{false, true} {
		b.Run(fmt.Sprintf("counts=%v", counts), func(b *testing.B) {
			w := unsynced.New(nil)
			if counts {
				w.Begin()
			}
			p := &publisher{shard: &Shard{opts: Options{Unsynced: w}}}
			t := &turn{}
			for i := range 16 {
				if i%2 == 0 {
					t.commands = append(t.commands, &enqueue{out: make([]queue.Enqueued, 64)})
				} else {
					t.commands = append(t.commands, &settle{settlements: make([]queue.Settlement, 64), out: make([]error, 64)})
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				p.acknowledge(t)
			}
		})
	}
}

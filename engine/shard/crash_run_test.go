package shard

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

const crashSyncInterval = time.Millisecond

// crashTotals counts the work of a test.
type crashTotals struct{ seeds, commands, points, drained int }

// TestPowerLossAtEveryStep sends random commands of all kinds to a shard. It copies the disk at
// every operation that makes data durable, and at random ones, and checks shards that are opened on
// these copies. The next life continues from one of the copies.
func TestPowerLossAtEveryStep(t *testing.T) {
	const points = 16 // copies of one life that are checked
	seeds := longtest.Count(t, 3, 50)
	for name, of := range map[string][]storage.Durability{
		"sync": {storage.Sync}, "interval": {storage.Interval}, "none": {storage.None},
		"changing": {storage.Sync, storage.Interval, storage.None}, // from life to life
	} {
		t.Run(name, func(t *testing.T) {
			var total crashTotals
			for seed := 1; seed <= seeds; seed++ {
				r := &crashRun{T: t, of: of, seed: uint64(seed), rng: rand.New(rand.NewPCG(uint64(seed), 7)), pointsMax: points}
				r.run()
				total.seeds++
				total.commands += r.total.commands
				total.points += r.total.points
				total.drained += r.total.drained
			}
			t.Logf("total: %d seeds, %d commands, %d losses of power, %d tasks recovered", total.seeds, total.commands, total.points, total.drained)
		})
	}
}

// TestPowerLossWithLargePayloads is TestPowerLossAtEveryStep with some payloads of 1 MiB and copies
// at fewer operations.
func TestPowerLossWithLargePayloads(t *testing.T) {
	seeds := longtest.Count(t, 1, 20)
	for name, of := range map[string][]storage.Durability{
		"sync": {storage.Sync}, "changing": {storage.Sync, storage.Interval, storage.None},
	} {
		t.Run(name, func(t *testing.T) {
			var total crashTotals
			for seed := range seeds {
				r := &crashRun{T: t, of: of, seed: uint64(seed), rng: rand.New(rand.NewPCG(uint64(seed), 9)), pointsMax: 8, large: true}
				r.run()
				total.commands += r.total.commands
				total.points += r.total.points
				total.drained += r.total.drained
			}
			t.Logf("%d seeds, %d commands, %d losses of power, %d tasks recovered", seeds, total.commands, total.points, total.drained)
		})
	}
}

// crashRun is the history of one disk over several losses of power.
type crashRun struct {
	*testing.T
	of        []storage.Durability // each life has one of these
	seed      uint64
	rng       *rand.Rand
	pointsMax int
	large     bool
	total     crashTotals
}

const (
	crashLives = 4
	crashSteps = 120
	// With large payloads, each copy of the disk is large too.
	crashLargeSteps, crashLargeEvery = 60, 12
)

func (r *crashRun) run() {
	disk, l, nowMs := vfs.NewCrashableMem(), newCrashLedger(), int64(1_000_000)
	for life := range crashLives {
		d := r.of[r.rng.IntN(len(r.of))]
		points := r.live(life, d, disk, l, nowMs)
		next := points[r.rng.IntN(len(points))]
		disk, nowMs = next.copy(), next.nowMs
		for _, p := range r.some(points) {
			check := &crashCheck{T: r.T, crashPoint: p, l: l, durable: d == storage.Sync}
			check.what = fmt.Sprintf("seed %d, life %d, %s, %d%% of unsynced data", r.seed, life, p.what, p.percent)
			check.run(r.of[r.rng.IntN(len(r.of))])
			r.total.points++
			r.total.drained += check.drained
		}
		l = r.goOn(disk, l, next, d)
	}
}

// copy returns a copy of the disk, so that the disk can be opened twice.
func (p *crashPoint) copy() *vfs.MemFS {
	return p.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
}

// some selects the points to check. It always includes the last one, after an orderly end.
func (r *crashRun) some(points []crashPoint) []crashPoint {
	last := points[len(points)-1]
	points = points[:len(points)-1]
	r.rng.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	return append(points[:min(len(points), r.pointsMax)], last)
}

// live runs a shard on a disk until an orderly end, and returns the points of possible losses of
// power.
func (r *crashRun) live(life int, d storage.Durability, disk *vfs.MemFS, l *crashLedger, nowMs int64) []crashPoint {
	c := &crashDriver{
		T: r.T, rng: r.rng, l: l, under: make(chan struct{}, crashUnderWay), prefix: fmt.Sprintf("%d/%d", r.seed, life),
		versions: map[crashQueue]uint64{}, versionMin: uint64(100 * life), issued: l.issuedBy(0), large: r.large,
	}
	c.nowMs.Store(nowMs)
	p := &crashPoints{rng: rand.New(rand.NewPCG(r.seed, uint64(life))), disk: disk, l: l, nowMs: c.nowMs.Load, on: true, every: 1}
	steps := crashSteps
	if r.large {
		steps, p.every = crashLargeSteps, crashLargeEvery
	}
	c.store, c.shard, _ = openCrashed(r.T, errorfs.Wrap(disk, errorfs.InjectorFunc(p.maybe)), d, c.nowMs.Load)
	for range steps {
		c.step()
	}
	c.settle()
	require.False(r, c.failed.Load())
	r.total.commands += c.sent
	c.shard.Close()
	require.NoError(r, c.store.Close())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.take("after an orderly end")
	return p.taken
}

// goOn begins a new ledger with the state of the disk after a loss of power.
func (r *crashRun) goOn(disk *vfs.MemFS, l *crashLedger, from crashPoint, d storage.Durability) *crashLedger {
	looked := (&crashPoint{disk: disk}).copy()
	store, err := storage.Open("shard", storage.Options{FS: looked, Durability: d, SyncInterval: crashSyncInterval})
	require.NoError(r, err)
	defer func() { require.NoError(r, store.Close()) }()
	return l.settled(from.acked, d == storage.Sync, func(ref queue.Ref) bool {
		_, found, err := store.LookHead(ref)
		require.NoError(r, err)
		return found
	})
}

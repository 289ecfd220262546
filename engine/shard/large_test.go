package shard

import (
	"runtime/metrics"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

const mib = 1 << 20

func largeTasks(q string, n int) []queue.NewTask {
	out := newTasks(q, n)
	for i := range out {
		out[i].Payload = make([]byte, mib)
	}
	return out
}

// After a restart with a backlog of large tasks, a claim reads at most RefillBytesMax and caches at
// most CacheBytesMax of payloads. The lower bound applies.
func TestRefillOfLargeTasksIsBoundedInBytes(t *testing.T) {
	for name, cfg := range map[string]queue.Config{
		"refill": {RefillBytesMax: 4 * mib, CacheBytesMax: 16 * mib},
		"cache":  {RefillBytesMax: 8 * mib, CacheBytesMax: 2 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			f := start(t, fs, Options{Queue: cfg})
			const n = 24
			f.enqueue(largeTasks("q", n)...)
			f.stop()
			f = start(t, fs, Options{Queue: cfg})
			defer f.stop()
			before := f.store.Counters()
			require.Len(t, f.claim(1, "q"), 1)
			after := f.store.Counters()
			assert.LessOrEqual(t, after.TaskBytes-before.TaskBytes, uint64(cfg.RefillBytesMax+2*mib), "one task beyond the bound, and the claimed task")
			assert.LessOrEqual(t, after.PayloadBytes-before.PayloadBytes, uint64(min(cfg.RefillBytesMax, cfg.CacheBytesMax)+2*mib))
			got := 1
			for got < n {
				ds := f.claim(n, "q")
				require.NotEmpty(t, ds)
				for _, d := range ds {
					require.Len(t, d.Payload, mib)
				}
				got += len(ds)
			}
			assert.Empty(t, f.claim(1, "q"))
		})
	}
}

// Neither the expiry of large tasks nor changes of large tasks copy their payloads.
func TestLargeTasksAreMovedWithoutTheirPayloads(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{Queue: queue.Config{RefillBytesMax: 4 * mib}})
	defer f.stop()
	const n = 12
	tasks := largeTasks("q", n)
	for i := range tasks {
		tasks[i].TTLMs = 10
	}
	refs := f.enqueue(tasks...)
	before := f.store.Counters().PayloadBytes
	f.nowMs.Add(10)
	for f.stats()[0].Dead < n { // each turn moves a part
		require.NoError(t, f.settleNothing())
	}
	for _, what := range []Change{Redrive, Cancel} {
		got := receive(t, ask(t, func(r func([]error, error)) error { return f.Change(what, tenant, refs, r) }))
		require.NoError(t, got.err)
		require.Equal(t, make([]error, n), got.value)
	}
	assert.Equal(t, before, f.store.Counters().PayloadBytes)
}

// settleNothing makes the shard run a turn.
func (f *fixture) settleNothing() error {
	return receive(f.t, ask(f.t, func(r func([]error, error)) error { return f.Settle(tenant, nil, r) })).err
}

// heapAllocated returns the total bytes ever allocated on the heap. Its growth bounds the bytes in
// use at any time.
func heapAllocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// The first claim after a restart with a backlog of large tasks allocates memory for a few refills,
// independent of the length of the backlog.
func TestClaimAfterARestartWithLargeTasksAllocatesLittle(t *testing.T) {
	n := longtest.Count(t, 96, 5_000) // tasks of 1 MiB
	dir := t.TempDir()
	open := func() *fixture {
		store, err := storage.Open(dir, storage.Options{Durability: storage.None})
		require.NoError(t, err)
		f := &fixture{t: t, store: store}
		f.nowMs.Store(1_000)
		f.Shard, err = New(store, Options{NowMs: f.nowMs.Load, Queue: queue.Config{CacheBytesMax: 8 * mib, RefillBytesMax: 8 * mib}})
		require.NoError(t, err)
		return f
	}
	f := open()
	for left := n; left > 0; {
		part := min(left, 8)
		f.enqueue(largeTasks("q", part)...)
		left -= part
	}
	f.stop()
	f = open()
	before := heapAllocated()
	require.Len(t, f.claim(1, "q"), 1)
	allocated := heapAllocated() - before
	f.stop()
	t.Logf("%d tasks of 1 MiB: the first claim allocates %d MiB", n, allocated/mib)
	assert.Less(t, allocated, uint64(48*mib))
}

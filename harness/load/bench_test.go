package load

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/null"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/scenario"
)

// loop is a producer and a worker slot that take turns on one goroutine. It does the work of a load
// for each task without other goroutines and without a server.
type loop struct {
	producer *producer
	slot     *slot
	now      int64
}

func newLoop(t testing.TB, batch int) *loop {
	w := workload(func(w *scenario.Workload) { w.Tenants, w.Queues, w.Producers, w.Batch = 1, 1, 1, batch })
	r := &round{cfg: Config{Workload: w, Ledger: NewLedger(1, w)}, accounting: accounting{clock: clock{epoch: time.Now()}}}
	r.ledger = r.cfg.Ledger
	r.window = settledEdges(span{end: int64(time.Hour)}, int64(time.Hour))
	conn := null.New().Dial()
	p, err := conn.Producer(context.Background(), "t0")
	require.NoError(t, err)
	worker, err := conn.Worker(context.Background(), "t0", []string{"q0"}, batch)
	require.NoError(t, err)
	s, err := newSlot(r, 0, "t0", worker)
	require.NoError(t, err)
	return &loop{
		producer: newProducer(r, 0, []destination{{address: ledger.NewAddress("t0", "q0"), session: p}}),
		slot:     s,
	}
}

// cycle enqueues, claims and completes a batch and returns its number of tasks.
func (l *loop) cycle(ctx context.Context) int {
	p, s := l.producer, l.slot
	for i := range p.intended {
		p.intended[i] = l.now
	}
	acknowledged, answered, ok := p.call(ctx, len(p.tasks))
	if !ok {
		return 0
	}
	p.record.latency.record(answered-l.now, acknowledged)
	l.now = answered
	n, err := s.session.Claim(ctx, s.deliveries)
	if err != nil {
		return 0
	}
	at := p.clock.now()
	s.check(n, at)
	if s.session.Complete(ctx, s.deliveries[:n], s.outcomes[:n]) != nil {
		return 0
	}
	s.record.account(s.claimed[:n], s.outcomes[:n], p.clock.now())
	return n
}

// run processes at least the given number of tasks, rounded up to whole batches.
func (l *loop) run(ctx context.Context, tasks int) (done int) {
	for done < tasks {
		n := l.cycle(ctx)
		if n == 0 {
			break
		}
		done += n
	}
	return done
}

// cpuShare starts to measure the process's CPU time. The returned function reports it for a number
// of tasks: as the share of one CPU that 100,000 tasks a second use. This figure does not depend on
// other load on the host.
func cpuShare(b *testing.B) func(tasks int) {
	before, err := observe.ProcessCPU(os.Getpid())
	require.NoError(b, err)
	return func(tasks int) {
		after, err := observe.ProcessCPU(os.Getpid())
		require.NoError(b, err)
		b.ReportMetric((after-before).Seconds()/float64(tasks)*1e5*100, "%CPU-at-100k/s")
	}
}

// BenchmarkCycle measures the generator's work for one task of 64 bytes: sealing and checking, the
// ledger, the latencies, the clock, and the null driver. The second figure is the CPU share of
// 100,000 tasks a second.
func BenchmarkCycle(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			l := newLoop(b, batch)
			b.ReportAllocs()
			report := cpuShare(b)
			b.ResetTimer()
			done := l.run(b.Context(), b.N)
			b.StopTimer()
			require.GreaterOrEqual(b, done, b.N)
			require.EqualValues(b, done, l.slot.record.cycles)
			report(done)
		})
	}
}

// BenchmarkRecord measures only the recorder and the ledger, for one task per call.
func BenchmarkRecord(b *testing.B) {
	l := newLoop(b, 1)
	p, s := l.producer, l.slot
	s.claimed[0] = claimed{id: ledger.Identity{Round: 1}, verdict: ledger.Sound}
	b.ReportAllocs()
	report := cpuShare(b)
	b.ResetTimer()
	for i := range b.N {
		first := p.cfg.Ledger.Sent(0, 1)
		acknowledged, _ := p.record.account(0, first, p.intended[:1], p.outcomes[:1])
		p.record.latency.record(int64(i), acknowledged)
		s.claimed[0].id.Sequence = first
		s.record.account(s.claimed[:1], s.outcomes[:1], int64(i%1e9))
	}
	b.StopTimer()
	require.EqualValues(b, b.N, s.record.cycles)
	report(b.N)
}

// heap returns the memory in use after a collection, and the number of allocations so far.
func heap() (inUse, taken uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.Mallocs
}

// growth returns the growth of the memory in use in bytes, and the number of allocations, over a
// number of tasks after an initial phase.
func growth(t testing.TB, tasks int) (bytes int64, taken uint64) {
	l := newLoop(t, 64)
	l.run(t.Context(), 50_000)
	before, takenBefore := heap()
	require.GreaterOrEqual(t, l.run(t.Context(), tasks), tasks)
	after, takenAfter := heap()
	require.Zero(t, l.producer.cfg.Ledger.Outstanding())
	runtime.KeepAlive(l)
	return int64(after) - int64(before), takenAfter - takenBefore
}

// A load does not use more memory over two million tasks. BenchmarkMemory checks the same for any
// number of tasks.
func TestMemoryIsConstant(t *testing.T) {
	bytes, taken := growth(t, 2_000_000)
	assert.Less(t, bytes, int64(64<<10))
	assert.Less(t, taken, uint64(2000), "of %d tasks", 2_000_000)
}

// BenchmarkMemory reports the growth of the memory in use over b.N tasks:
//
//	go test ./load -run '^$' -bench Memory -benchtime 20000000x
func BenchmarkMemory(b *testing.B) {
	bytes, taken := growth(b, b.N)
	b.ReportMetric(float64(bytes), "bytes-grown")
	b.ReportMetric(float64(taken), "allocations")
}

// BenchmarkNull runs a closed load with all its goroutines on the null target. It measures the
// maximum throughput of the generator, its recorders and the ledger on one CPU, in cycles/s.
func BenchmarkNull(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w := workload(func(w *scenario.Workload) { w.Tenants, w.Queues, w.Batch = 1, 1, 64 })
	var cycles uint64
	var window time.Duration
	for range b.N {
		o, err := Run(context.Background(), Config{
			Workload: w, Phases: scenario.Phases{Warmup: 100 * time.Millisecond, Window: time.Second, Drain: time.Minute},
			Conns: []driver.Conn{null.New().Dial()}, Ledger: NewLedger(1, w),
		})
		require.NoError(b, err)
		require.True(b, o.Drained)
		cycles, window = cycles+o.Cycles, window+o.Window
	}
	b.ReportMetric(float64(cycles)/window.Seconds(), "cycles/s")
}

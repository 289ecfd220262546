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

// loop is a producer and a worker slot that take turns on one goroutine: all that a load does for a task, but for other
// goroutines and what is behind the driver.
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

// cycle takes a batch through its whole life and returns how many tasks it had.
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

// run does so many tasks, or a few more.
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

// cpuShare measures the process's CPU time from now on, and returns what reports it for a number of tasks: as the share of a
// CPU that 100,000 of them a second take, which is the same beside a busy neighbour.
func cpuShare(b *testing.B) func(tasks int) {
	before, err := observe.ProcessCPU(os.Getpid())
	require.NoError(b, err)
	return func(tasks int) {
		after, err := observe.ProcessCPU(os.Getpid())
		require.NoError(b, err)
		b.ReportMetric((after-before).Seconds()/float64(tasks)*1e5*100, "%CPU-at-100k/s")
	}
}

// BenchmarkCycle is what the generator does for one task of 64 bytes: sealing and checking it, the ledger, the latencies,
// the clock, and the null driver. What 100,000 a second of them take of a CPU is the second figure.
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

// BenchmarkRecord is the recorder and the ledger alone, for one task of a call.
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

// heap is what is in use after a collection, and how often memory was taken so far.
func heap() (inUse, taken uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.Mallocs
}

// growth is by how much the memory in use grew over so many tasks, and how often some was taken, after a start.
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

// Over two million tasks a load takes no memory that it did not have. BenchmarkMemory is the same for as many as one likes.
func TestMemoryIsConstant(t *testing.T) {
	bytes, taken := growth(t, 2_000_000)
	assert.Less(t, bytes, int64(64<<10))
	assert.Less(t, taken, uint64(2000), "of %d tasks", 2_000_000)
}

// BenchmarkMemory is by how much the memory in use grows over b.N tasks:
//
//	go test ./load -run '^$' -bench Memory -benchtime 20000000x
func BenchmarkMemory(b *testing.B) {
	bytes, taken := growth(b, b.N)
	b.ReportMetric(float64(bytes), "bytes-grown")
	b.ReportMetric(float64(taken), "allocations")
}

// BenchmarkNull is a closed load on a target that does nothing, with all its goroutines: what the generator, its recorders
// and the ledger reach by themselves on one CPU. Its figure is cycles/s.
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

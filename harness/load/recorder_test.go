package load

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/result"
)

func TestHistogramIsSmallAndExactToOnePercent(t *testing.T) {
	assert.LessOrEqual(t, result.NewHistogram().ByteSize(), 23_000)
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(0, int64(result.LatencyHighest)).Draw(t, "ns")
		l := newLatencies()
		l.record(ns, 1)
		assert.InDelta(t, ns, l.histogram.Max(), max(512, float64(ns)*0.01))
		assert.Zero(t, l.clamped)
	})
}

func TestLatencyOutOfRangeIsCounted(t *testing.T) {
	l := newLatencies()
	l.record(int64(result.LatencyHighest), 1)
	assert.Zero(t, l.clamped)
	l.record(int64(result.LatencyHighest)+1, 3)
	l.record(int64(100*time.Hour), 1)
	l.record(-1, 2)
	all := result.NewHistogram()
	assert.EqualValues(t, 6, l.mergeInto(all))
	assert.EqualValues(t, 5, all.TotalCount())
}

func TestRefusalsKeepTheFirstReason(t *testing.T) {
	var none, a, b Refusals
	a.note(2, errors.New("first"))
	a.note(1, errors.New("second"))
	b.note(1, errors.New("third"))
	none.add(a)
	none.add(b)
	assert.Equal(t, Refusals{Count: 4, First: "first"}, none)
}

func TestWindowIsHalfOpen(t *testing.T) {
	s := span{start: 10, end: 20}
	assert.False(t, s.contains(9))
	assert.True(t, s.contains(10))
	assert.True(t, s.contains(19))
	assert.False(t, s.contains(20))
}

// BenchmarkCycleAccounting is what the harness itself does for one cycle, without any driver: three
// readings of the clock, sealing and opening of a 64-byte payload, the ledger, three latencies.
func BenchmarkCycleAccounting(b *testing.B) {
	w := workload(nil)
	r := &round{cfg: Config{Workload: w, Ledger: NewLedger(1, w)}, clock: clock{epoch: time.Now()}}
	r.window = span{end: int64(time.Hour)}
	p := newProducer(r, 0, []destination{{tenant: "t0", queue: "q0"}})
	s := newSlot(r, 0, "t0", nil)
	now := r.clock.now()
	b.ReportAllocs()
	for b.Loop() {
		started := now
		first := r.cfg.Ledger.Sent(0, 1)
		p.seal(&p.routes[0], first, started)
		now = r.clock.now()
		p.enqueue.record(now-started, p.account(first))

		s.deliveries[0].Queue, s.deliveries[0].Payload = "q0", p.tasks[0].Payload
		at := r.clock.now()
		s.check(1)
		s.account(1, at, r.clock.now())
	}
	if s.cycles != uint64(b.N) {
		b.Fatalf("%d of %d cycles counted", s.cycles, b.N)
	}
}

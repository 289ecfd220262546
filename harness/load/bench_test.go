package load

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// nullSession acknowledges everything at once.
type nullSession struct{}

func (nullSession) Enqueue(context.Context, []driver.Task, []error) error      { return nil }
func (nullSession) Complete(context.Context, []driver.Delivery, []error) error { return nil }
func (nullSession) Claim(context.Context, []driver.Delivery) (int, error)      { return 0, errClaimedNone }

// BenchmarkCycle is what the harness itself does for one task: sealing and opening of a 64-byte payload, the ledger,
// the latencies and the clock. The figure is the time of one task.
func BenchmarkCycle(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			w := workload(func(w *scenario.Workload) { w.Batch = batch })
			r := &round{cfg: Config{Workload: w, Ledger: NewLedger(1, w)}, clock: clock{epoch: time.Now()}}
			r.window = span{end: int64(time.Hour)}
			p := newProducer(r, 0, []destination{{ledger.NewAddress("t0", "q0"), nullSession{}}})
			s := newSlot(r, 0, "t0", nullSession{})
			now := r.clock.now()
			ctx := b.Context()
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += batch {
				for j := range p.intended {
					p.intended[j] = now
				}
				acknowledged, answered, ok := p.call(ctx, batch)
				p.enqueue.record(answered-now, acknowledged)
				now = answered
				for j, t := range p.tasks {
					s.deliveries[j] = driver.Delivery{Tenant: t.Tenant, Queue: t.Queue, Payload: t.Payload}
				}
				at := r.clock.now()
				s.check(batch)
				s.account(batch, at, r.clock.now())
				if !ok {
					b.Fatal("the call failed")
				}
			}
			if s.cycles < uint64(b.N) {
				b.Fatalf("%d of %d cycles counted", s.cycles, b.N)
			}
		})
	}
}

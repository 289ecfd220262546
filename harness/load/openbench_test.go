package load

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/null"
	"github.com/pronybench/prony/harness/scenario"
)

// BenchmarkSlip measures the slip of an open load at 50,000 arrivals a second, on all CPUs.
func BenchmarkSlip(b *testing.B) {
	w := workload(func(w *scenario.Workload) {
		w.Tenants, w.Queues, w.Producers, w.Workers, w.InFlight = 1, 1, 32, 64, 1_000_000
		w.Arrivals = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: 50_000}}
	})
	var p50, p99 float64
	for range b.N {
		o, err := Run(context.Background(), Config{
			Workload: w, Phases: scenario.Phases{Warmup: 100 * time.Millisecond, Window: time.Second, Drain: time.Minute},
			Conns: []driver.Conn{null.New().Dial()}, Ledger: NewLedger(1, w),
		})
		require.NoError(b, err)
		p50 = max(p50, float64(o.Open.Slip.ValueAtPercentile(50))/1e6)
		p99 = max(p99, float64(o.Open.Slip.ValueAtPercentile(99))/1e6)
	}
	b.ReportMetric(p50, "ms-p50-worst")
	b.ReportMetric(p99, "ms-p99-worst")
}

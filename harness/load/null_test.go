package load

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/null"
	"github.com/pronybench/prony/harness/scenario"
)

// BenchmarkNull is a closed load on a target that does nothing: what the generator, its recorders and the ledger reach by
// themselves on one processor. Its figure is cycles/s.
func BenchmarkNull(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w := workload(func(w *scenario.Workload) { w.Tenants, w.Queues, w.Batch = 1, 1, 64 })
	var cycles uint64
	var window time.Duration
	for range b.N {
		target := null.New()
		o, err := Run(context.Background(), Config{
			Workload: w, Phases: scenario.Phases{Warmup: 100 * time.Millisecond, Window: time.Second, Drain: time.Minute},
			Conns: []driver.Conn{target.Dial()}, Ledger: NewLedger(1, w),
		})
		require.NoError(b, err)
		require.True(b, o.Drained)
		cycles, window = cycles+o.Cycles, window+o.Window
	}
	b.ReportMetric(float64(cycles)/window.Seconds(), "cycles/s")
}

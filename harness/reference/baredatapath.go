package reference

import (
	"context"

	"github.com/pronybench/prony/harness/reference/bare"
	"github.com/pronybench/prony/harness/result"
)

// bareDataPath measures cycles of the bare data path. The CPU time is the sum over both processes.
func bareDataPath(ctx context.Context, c Config) (measured, error) {
	batch, _ := result.BareConditions(c.Batch, c.Sync)
	m, err := bare.Measure(ctx, bare.Config{Dir: c.Dir, Batch: batch, Sync: c.Sync, Warmup: c.BareFor / 2, For: c.BareFor})
	return measured{operations: m.Cycles, wall: m.Wall, cpu: m.ServerCPU + m.ClientCPU, server: m.ServerCPU}, err
}

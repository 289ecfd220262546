package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/scenario"
)

// The tasks of a workload without workers are never claimed. They count as left and not as lost,
// and the round waits for no completion.
func TestEnqueueAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.ackDelay = 10 * time.Millisecond
		cfg := config(b, workload(func(w *scenario.Workload) { w.Workers, w.Batch, w.InFlight = 0, 5, 1_000_000 }))
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.True(t, o.Drained)
		assert.Zero(t, o.Cycles)
		assert.Equal(t, countWithin(b.acknowledged, o.WindowStart, o.WindowEnd), o.Enqueued)
		assert.EqualValues(t, o.Enqueued, o.EnqueueLatency.TotalCount())
		assert.Zero(t, o.CycleLatency.TotalCount()+o.SettleLatency.TotalCount())
		assert.Empty(t, b.sessions, "no worker session")
		assert.Zero(t, b.deliveries)
		assert.Less(t, o.Finished.Sub(o.WindowEnd), cfg.Phases.Drain)
		balance := cfg.Ledger.Balance()
		assert.EqualValues(t, len(b.ready), balance.Left)
		assert.Equal(t, balance.Enqueued, balance.Left)
		assert.Equal(t, balance.Left, o.Outstanding)
		assert.Zero(t, balance.Lost)
		assert.Empty(t, balance.Samples)
	})
}

// The producers of a workload without workers stop at the bound on the number of tasks on the
// server.
func TestEnqueueAloneIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.ackDelay = 10 * time.Millisecond
		cfg := config(b, workload(func(w *scenario.Workload) { w.Workers, w.Batch, w.InFlight = 0, 5, 103 }))
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.Len(t, b.ready, 100, "whole batches")
		assert.EqualValues(t, 100, o.Outstanding)
		assert.Zero(t, o.Enqueued, "the bound was reached in the warm-up")
	})
}

// A workload without producers claims and completes the tasks of Fill. Its cycles have no latency.
func TestClaimAlone(t *testing.T) {
	for _, tasks := range []int{20_000, 50} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			b.completeDelay = 10 * time.Millisecond
			cfg := config(b, workload(func(w *scenario.Workload) { w.Producers, w.Batch = 0, 5 }))
			_, err := Fill(t.Context(), cfg, uint64(tasks), time.Hour)
			require.NoError(t, err)
			assert.Len(t, b.ready, tasks)
			cfg.Conns = b.conns(2)
			o, err := Run(t.Context(), cfg)
			require.NoError(t, err)
			assert.True(t, o.Drained)
			assert.Equal(t, countWithin(b.completed, o.WindowStart, o.WindowEnd), o.Cycles)
			assert.Equal(t, tasks == 50, o.Cycles == 0)
			assert.Equal(t, tasks == 50, o.Outstanding == 0, "tasks remain at the window's end")
			assert.EqualValues(t, o.Cycles, o.SettleLatency.TotalCount())
			assert.Zero(t, o.CycleLatency.TotalCount()+o.EnqueueLatency.TotalCount())
			balance := cfg.Ledger.Balance()
			assert.EqualValues(t, tasks, balance.Completed)
			assert.Zero(t, balance.Lost+balance.Left)
		})
	}
}

// An invalid configuration with one role is refused.
func TestRolesThatCannotBeRun(t *testing.T) {
	s := golden.Cases(t, "testdata/roles.golden")
	for name, change := range map[string]func(*scenario.Workload){
		"nobody":               func(w *scenario.Workload) { w.Producers, w.Workers = 0, 0 },
		"no bound":             func(w *scenario.Workload) { w.Workers = 0 },
		"below zero":           func(w *scenario.Workload) { w.Producers = -1 },
		"due without producer": func(w *scenario.Workload) { dueAt(w); w.Producers = 0 },
		"due without worker":   func(w *scenario.Workload) { dueAt(w); w.Workers = 0 },
	} {
		_, err := Run(t.Context(), config(newBroker(), workload(change)))
		s.Error(t, name, err)
	}
}

func dueAt(w *scenario.Workload) {
	w.Arrivals = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: 100}}
	w.InFlight = 100
}

package load

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// Each priority has the share that the workload defines.
func TestPriorities(t *testing.T) {
	for name, c := range map[string]struct {
		priority scenario.Priority
		shares   map[uint32]float64
	}{
		"none":    {scenario.Priority{}, map[uint32]float64{0: 1}},
		"one":     {scenario.Priority{Kind: scenario.PriorityUniform, Min: 4, Max: 4}, map[uint32]float64{4: 1}},
		"uniform": {scenario.Priority{Kind: scenario.PriorityUniform, Min: 2, Max: 5}, map[uint32]float64{2: 0.25, 3: 0.25, 4: 0.25, 5: 0.25}},
		"a share": {scenario.Priority{Kind: scenario.PriorityShare, Max: 9, Part: 0.1}, map[uint32]float64{0: 0.9, 9: 0.1}},
		"all":     {scenario.Priority{Kind: scenario.PriorityShare, Max: 9, Part: 1}, map[uint32]float64{9: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				cfg := brief(config(b, workload(func(w *scenario.Workload) { w.Priority, w.Batch = c.priority, 5 })))
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				require.True(t, o.Drained)
				balance := cfg.Ledger.Balance()
				assert.Zero(t, balance.Corrupted+balance.Lost, "%v", balance.Samples)
				require.Len(t, b.priorities, len(c.shares))
				for priority, share := range c.shares {
					assert.InDelta(t, share, float64(b.priorities[priority])/float64(balance.Enqueued), 0.02, "priority %d of %d tasks", priority, balance.Enqueued)
				}
			})
		})
	}
}

// A target that delivers a task with a changed priority is at fault.
func TestPrioritiesThatAreChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.deliver = func(n int, d *driver.Delivery) {
			if n == 7 {
				d.Priority++
			}
		}
		cfg := config(b, workload(func(w *scenario.Workload) {
			w.Priority = scenario.Priority{Kind: scenario.PriorityUniform, Min: 3, Max: 3}
		}))
		_, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		balance := cfg.Ledger.Balance()
		assert.EqualValues(t, 1, balance.Corrupted)
		require.Len(t, balance.Samples, 1)
		assert.Regexp(t, `^corrupted: producer \d task \d+ was enqueued to t\d/q\d with priority 3 and claimed with priority 4$`, balance.Samples[0])
		assert.Zero(t, balance.Lost)
	})
}

// The same seed gives the same tasks a priority; another seed gives it to other tasks.
func TestPrioritiesFollowFromTheSeed(t *testing.T) {
	sent := func(seed int) (all []uint32) {
		u := newUrgency(scenario.Workload{Seed: seed, Priority: scenario.Priority{Kind: scenario.PriorityUniform, Max: 9}})
		for i := range uint64(100) {
			all = append(all, u.of(ledger.Identity{Producer: 3, Sequence: i}))
		}
		return all
	}
	assert.Equal(t, sent(1), sent(1))
	assert.NotEqual(t, sent(1), sent(2))
}

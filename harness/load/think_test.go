package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/scenario"
)

// Each worker slot waits between a claim and its completion for a time of the distribution, and
// does nothing else in that time.
func TestWorkersThink(t *testing.T) {
	ms := time.Millisecond
	for name, c := range map[string]struct {
		think          scenario.Think
		min, max, mean time.Duration
	}{
		"fixed":       {scenario.Think{Kind: scenario.ThinkFixed, Min: 10 * ms, Max: 10 * ms}, 10 * ms, 10 * ms, 10 * ms},
		"uniform":     {scenario.Think{Kind: scenario.ThinkUniform, Min: 2 * ms, Max: 6 * ms}, 2 * ms, 6 * ms, 4 * ms},
		"exponential": {scenario.Think{Kind: scenario.ThinkExponential, Mean: 5 * ms, Max: 50 * ms}, 0, 50 * ms, 5 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				b.ackDelay, b.completeDelay = ms, 0
				w := workload(func(w *scenario.Workload) { w.Think, w.InFlight = c.think, 64 })
				cfg := config(b, w)
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				assert.True(t, o.Drained)
				h := o.SettleLatency
				const resolution = 0.01
				assert.InDelta(t, float64(c.mean), h.Mean(), 0.1*float64(c.mean))
				assert.GreaterOrEqual(t, float64(h.Min()), (1-resolution)*float64(c.min))
				assert.LessOrEqual(t, float64(h.Max()), (1+resolution)*float64(c.max))
				assert.InEpsilon(t, float64(w.Workers)*cfg.Phases.Window.Seconds()/c.mean.Seconds(), float64(o.Cycles), 0.1, "each slot has one claim at a time")
				if name != "fixed" {
					assert.Greater(t, h.StdDev(), 0.2*float64(c.mean))
				}
			})
		})
	}
}

// The same seed gives a slot the same think times; other slots and seeds get different times.
func TestThinkTimesAreOfTheSeed(t *testing.T) {
	w := scenario.Workload{Seed: 7, Think: scenario.Think{Kind: scenario.ThinkUniform, Min: 0, Max: time.Hour}}
	draw := func(w scenario.Workload, slot int) (all []time.Duration) {
		of := newThinking(w, slot)
		for range 10 {
			all = append(all, of.next())
		}
		return all
	}
	first := draw(w, 0)
	assert.Equal(t, first, draw(w, 0))
	assert.NotEqual(t, first, draw(w, 1))
	w.Seed = 8
	assert.NotEqual(t, first, draw(w, 0))
}

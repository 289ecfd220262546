package load

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/scenario"
)

// prolonged is a closed load whose warm-up takes from one to five seconds.
func prolonged(b *broker, w scenario.Workload, steady func() bool) Config {
	cfg := config(b, w)
	cfg.Phases.WarmupMax = 5 * time.Second
	cfg.Hooks.Steady = steady
	return cfg
}

func TestWarmupGoesOnUntilTheLoadIsSteady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, asked := time.Now(), 0
		var start, end time.Duration
		cfg := prolonged(newBroker(), workload(func(w *scenario.Workload) { w.InFlight = 100 }), func() bool {
			asked++
			assert.GreaterOrEqual(t, time.Since(began), time.Second)
			return time.Since(began) >= 2500*time.Millisecond
		})
		cfg.Hooks.WindowStart = func(context.Context) error { start = time.Since(began); return nil }
		cfg.Hooks.WindowEnd = func(context.Context) error { end = time.Since(began); return nil }
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.Equal(t, 2500*time.Millisecond, o.WindowStart.Sub(o.Launched))
		assert.Equal(t, 4500*time.Millisecond, o.WindowEnd.Sub(o.Launched))
		assert.Equal(t, 2*time.Second, o.Window)
		assert.Equal(t, 2500*time.Millisecond, start, "the hooks are called at the edges")
		assert.Equal(t, 4500*time.Millisecond, end)
		assert.Equal(t, 31, asked, "every twentieth of the warm-up")
		assert.True(t, o.Drained)
		assert.Positive(t, o.Cycles)
		assert.EqualValues(t, o.Cycles, o.CycleLatency.TotalCount(), "only tasks that were acknowledged inside")
		assert.EqualValues(t, o.Enqueued, o.EnqueueLatency.TotalCount())
		totals := cfg.Ledger.Totals()
		assert.Greater(t, totals.Completed, o.Cycles)
	})
}

func TestWarmupHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, err := Run(t.Context(), prolonged(newBroker(), workload(nil), func() bool { return false }))
		require.NoError(t, err)
		assert.Equal(t, 5*time.Second, o.WindowStart.Sub(o.Launched))
	})
}

func TestWarmupThatIsNotProlonged(t *testing.T) {
	never := func() bool { panic("asked") }
	for name, change := range map[string]func(*Config){
		"no more time": func(c *Config) { c.Phases.WarmupMax = time.Second },
		"no hook":      func(c *Config) { c.Hooks.Steady = nil },
		"open load": func(c *Config) {
			c.Workload.Arrivals, c.Workload.InFlight = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: 100}}, 100
			c.pause = timerPause{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := prolonged(newBroker(), workload(nil), never)
				change(&cfg)
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				assert.Equal(t, time.Second, o.WindowStart.Sub(o.Launched))
			})
		})
	}
}

// Several workloads share the window of the first workload.
func TestWarmupOfSeveralWorkloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		first := prolonged(newBroker(), workload(nil), func() bool { return time.Since(began) >= 2*time.Second })
		second := config(newBroker(), workload(nil))
		all, err := RunAll(t.Context(), first, second)
		require.NoError(t, err)
		for _, o := range all {
			assert.Equal(t, 2*time.Second, o.WindowStart.Sub(o.Launched))
			assert.Positive(t, o.Cycles)
		}
	})
}

// A load that fails or is cancelled before its window is known ends at once.
func TestWarmupThatIsCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("enough")
		_, err := Run(ctx, prolonged(newBroker(), workload(nil), func() bool {
			if time.Since(began) >= 2*time.Second {
				cancel(stop)
			}
			return false
		}))
		require.ErrorIs(t, err, stop)
		assert.Less(t, time.Since(began), 3*time.Second)
	})
}

package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// slack is longer than a cycle of the broker's tasks and shorter than their delay.
const slack = 50 * time.Millisecond

// delayed returns a workload with a delay for a share of the tasks.
func delayed(part float64, change func(*scenario.Workload)) scenario.Workload {
	return workload(func(w *scenario.Workload) {
		w.Delay = scenario.Delay{Time: 300 * time.Millisecond, Part: part}
		if change != nil {
			change(w)
		}
	})
}

// The given share of the tasks is delayed, workers get them only after the delay, and the cycle
// latency counts from the end of the delay.
func TestDelays(t *testing.T) {
	for name, c := range map[string]struct {
		part   float64
		change func(*scenario.Workload)
	}{
		"some":         {0.1, nil},
		"all":          {1, func(w *scenario.Workload) { w.InFlight = 400 }},
		"in batches":   {0.5, func(w *scenario.Workload) { w.Batch, w.InFlight = 5, 400 }},
		"with retries": {0.3, func(w *scenario.Workload) { w.Fail, w.MaxAttempts, w.Backoff = 0.2, 5, time.Millisecond }},
		"combined":     {0.3, func(w *scenario.Workload) { w.Combined, w.InFlight = true, 400 }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				cfg := config(b, delayed(c.part, c.change))
				b.combines = cfg.Workload.Combined
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				require.True(t, o.Drained, "the drain waits for the tasks that are not due")
				balance := cfg.Ledger.Balance()
				assert.Zero(t, balance.Early+balance.Lost+balance.Duplicated+balance.Corrupted+balance.Miscounted, "%v", balance.Samples)
				assert.InDelta(t, c.part, float64(b.delayed)/float64(balance.Enqueued), 0.05)
				assert.GreaterOrEqual(t, balance.Delayed, uint64(b.delayed))
				assert.NotZero(t, o.Cycles)
				assert.Positive(t, o.Late.TotalCount())
				assert.Less(t, o.Late.Max(), int64(slack))
				assert.Less(t, o.Late.Max(), o.CycleLatency.Max())
				longest := slack
				if c.change != nil && cfg.Workload.Combined {
					longest += 100 * time.Millisecond // its outcomes arrive with the next claim
				}
				assert.Less(t, o.CycleLatency.Max(), int64(longest))
				assert.Less(t, o.EnqueueLatency.Max(), int64(slack))
			})
		})
	}
}

// A target that delivers a delayed task too early is at fault, unless the rest of the delay is
// below its clock resolution of one millisecond.
func TestTasksThatComeEarly(t *testing.T) {
	for name, c := range map[string]struct {
		by    time.Duration
		early uint64
	}{
		"far too early":        {300 * time.Millisecond, 1},
		"a little too early":   {5 * time.Millisecond, 1},
		"within the tolerance": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				b.hasten = func(n int) time.Duration {
					if n == 7 {
						return c.by
					}
					return 0
				}
				cfg := config(b, delayed(0.1, nil))
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				assert.Zero(t, o.Clamped, "a task that comes early has no negative latency")
				balance := cfg.Ledger.Balance()
				assert.Equal(t, c.early, balance.Early)
				if c.early > 0 {
					require.Len(t, balance.Samples, 1)
					assert.Regexp(t, `^early: producer \d task \d+, enqueued with a delay of 300ms, was claimed [\d.]+ms before the delay ended$`, balance.Samples[0])
				}
				assert.Zero(t, balance.Lost)
			})
		})
	}
}

// An open load records the tasks whose delay ends inside the window, from that time on. Tasks that
// were sent in the window and whose delay ends after it are unfinished.
func TestDelaysOfAnOpenLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perSecond, part = 500, 0.5
		b := newBroker()
		cfg := open(b, perSecond, func(w *scenario.Workload) { w.Delay = scenario.Delay{Time: 300 * time.Millisecond, Part: part} })
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		require.True(t, o.Drained)
		assert.Zero(t, cfg.Ledger.Balance().Early)
		// Tasks of the window; an equal number of warm-up tasks becomes ready in it.
		after := part * perSecond * 0.3
		assert.InDelta(t, float64(o.Open.Scheduled), float64(o.CycleLatency.TotalCount()), 0.4*after)
		assert.InDelta(t, after, float64(o.Open.Unfinished), 0.4*after)
		assert.Equal(t, o.Open.Scheduled, o.Open.Finished+o.Open.Unfinished)
		assert.Zero(t, o.Clamped)
		assert.Less(t, o.CycleLatency.Max(), int64(slack))
	})
}

// The recorded lateness is the lateness of the broker.
func TestHowLateTasksCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.hasten = func(int) time.Duration { return -20 * time.Millisecond }
		o, err := Run(t.Context(), config(b, delayed(0.1, nil)))
		require.NoError(t, err)
		assert.InDelta(t, 20e6, float64(o.Late.ValueAtPercentile(50)), 3e6)
	})
}

func TestALoadWithoutDelaysHasNoLateTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, err := Run(t.Context(), config(newBroker(), workload(nil)))
		require.NoError(t, err)
		assert.Nil(t, o.Late)
	})
}

// The same seed delays the same tasks. Delay and priority are independent.
func TestDelaysFollowFromTheSeed(t *testing.T) {
	drawn := func(seed int) (delays []time.Duration, both int) {
		w := scenario.Workload{
			Seed: seed, Delay: scenario.Delay{Time: time.Second, Part: 0.5}, Priority: scenario.Priority{Kind: scenario.PriorityShare, Max: 9, Part: 0.5},
		}
		d, u := newDelaying(w), newUrgency(w)
		for i := range uint64(1000) {
			id := ledger.Identity{Producer: 3, Sequence: i}
			delays = append(delays, d.of(id))
			if d.of(id) > 0 && u.of(id) > 0 {
				both++
			}
		}
		return delays, both
	}
	first, both := drawn(1)
	again, _ := drawn(1)
	other, _ := drawn(2)
	assert.Equal(t, first, again)
	assert.NotEqual(t, first, other)
	assert.InDelta(t, 250, both, 60)
}

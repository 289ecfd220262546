package load

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHooksAreCalledAtTheEdges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(newBroker(), workload(nil))
		cfg.Hooks.WindowStart = func(ctx context.Context) error { return wait(ctx, 100*time.Millisecond) }
		cfg.Hooks.WindowEnd = func(ctx context.Context) error { return wait(ctx, 3*time.Second) }
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.Equal(t, HookTimes{o.WindowStart, o.WindowStart.Add(100 * time.Millisecond)}, o.StartHook)
		assert.Equal(t, HookTimes{o.WindowEnd, o.WindowEnd.Add(3 * time.Second)}, o.EndHook, "Run waits for the hook")
		assert.Less(t, o.Finished.Sub(o.WindowEnd), time.Second, "the drain does not wait for the hook")
		assert.True(t, o.Drained)
	})
}

// WindowNear is called before the window, also if the window waits for a steady load.
func TestHookNearTheWindow(t *testing.T) {
	for name, prolong := range map[string]bool{"a fixed warm-up": false, "a load that becomes steady": true, "a load that never becomes steady": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var near, start time.Time
				cfg := config(newBroker(), workload(nil))
				launched := time.Now()
				if prolong {
					cfg = prolonged(newBroker(), workload(nil), func() bool {
						return name != "a load that never becomes steady" && time.Since(launched) >= 2*time.Second
					})
				}
				cfg.Hooks.WindowNear = func(context.Context) error { near = time.Now(); return nil }
				cfg.Hooks.WindowStart = func(context.Context) error { start = time.Now(); return nil }
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				assert.Equal(t, o.WindowStart, start)
				assert.Equal(t, NearLead, start.Sub(near))
				assert.LessOrEqual(t, start.Sub(launched), 5*time.Second)
			})
		})
	}
}

func TestHookNearAWindowThatBeginsSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var near time.Time
		cfg := config(newBroker(), workload(nil))
		cfg.Phases.Warmup = NearLead / 2
		cfg.Hooks.WindowNear = func(context.Context) error { near = time.Now(); return nil }
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.Equal(t, o.Launched, near)
		assert.Equal(t, NearLead/2, o.WindowStart.Sub(o.Launched))
	})
}

func TestEndHookWaitsForStartHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(newBroker(), workload(nil))
		cfg.Hooks.WindowStart = func(ctx context.Context) error { return wait(ctx, 2500*time.Millisecond) }
		cfg.Hooks.WindowEnd = func(context.Context) error { return nil }
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.Equal(t, o.StartHook.Returned, o.EndHook.Called)
		assert.Equal(t, o.WindowEnd.Add(500*time.Millisecond), o.EndHook.Called)
	})
}

func TestFailedHookEndsTheLoad(t *testing.T) {
	for name, after := range map[string]time.Duration{"window start": time.Second, "window end": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				why := errors.New("no profile")
				cfg := config(newBroker(), workload(nil))
				hook := func(context.Context) error { return why }
				if name == "window start" {
					cfg.Hooks.WindowStart = hook
				} else {
					cfg.Hooks.WindowEnd = hook
				}
				launched := time.Now()
				_, err := Run(t.Context(), cfg)
				require.ErrorIs(t, err, why)
				assert.ErrorContains(t, err, "hook at the "+name)
				assert.NotContains(t, err.Error(), "more failed")
				assert.Less(t, time.Since(launched), after+100*time.Millisecond)
			})
		})
	}
}

func TestFailureEndsTheDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.loseEnqueue = every(10) // so that the drain takes until its deadline
		cfg := config(b, workload(nil))
		cfg.Hooks.WindowEnd = func(ctx context.Context) error {
			return errors.Join(wait(ctx, 2*time.Second), errBroken)
		}
		launched := time.Now()
		_, err := Run(t.Context(), cfg)
		require.ErrorIs(t, err, errBroken)
		assert.Equal(t, 5*time.Second, time.Since(launched))
	})
}

func TestHookThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(newBroker(), workload(nil))
		cfg.Hooks.WindowEnd = blocked
		launched := time.Now()
		_, err := Run(t.Context(), cfg)
		assert.ErrorContains(t, err, "a hook did not return within 5s after the drain's deadline")
		assert.Equal(t, 13*time.Second+stopMargin, time.Since(launched))
	})
}

func TestHookIsCancelledWithTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.enqueue = breakAfter(2 * time.Second)
		cfg := config(b, workload(nil))
		cfg.Hooks.WindowStart = blocked
		cfg.Hooks.WindowEnd = func(context.Context) error { panic("not to be called") }
		launched := time.Now()
		_, err := Run(t.Context(), cfg)
		require.ErrorIs(t, err, errBroken)
		assert.InDelta(t, 2*time.Second, time.Since(launched), float64(2*time.Millisecond))
	})
}

func TestCallerCancelsWhileAHookIsAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cfg := config(newBroker(), workload(nil))
		cfg.Hooks.WindowEnd = blocked
		time.AfterFunc(4*time.Second, cancel)
		launched := time.Now()
		_, err := Run(ctx, cfg)
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 4*time.Second, time.Since(launched))
	})
}

func TestProgressIsReportedFourTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.loseEnqueue = every(100)
		cfg := config(b, workload(nil))
		var reports []Progress
		cfg.Hooks.Progress = func(p Progress) { reports = append(reports, p) }
		outcome, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		require.InDelta(t, 13*4, len(reports), 1)
		highest := time.Duration(outcome.CycleLatency.Max())
		require.Positive(t, highest)
		for i, p := range reports {
			assert.Equal(t, time.Duration(i+1)*progressEvery, p.Elapsed)
			switch {
			case p.Elapsed < time.Second:
				assert.Equal(t, "warmup", p.Phase)
				assert.Zero(t, p.CycleP99, "of the window only")
			case p.Elapsed < 3*time.Second:
				assert.Equal(t, "window", p.Phase)
			default:
				assert.Equal(t, "drain", p.Phase)
				assert.GreaterOrEqual(t, p.CycleP99, time.Duration(outcome.CycleLatency.Min()))
				assert.LessOrEqual(t, p.CycleP99, highest+highest/8)
			}
			assert.Equal(t, p.Sent-p.Completed, p.Outstanding)
		}
		assert.NotZero(t, reports[0].Sent)
		assert.NotZero(t, reports[0].Completed)
	})
}

package load

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/scenario"
)

var errBroken = errors.New("connection reset")

// breakAfter fails every call from d on, like a broken connection.
func breakAfter(d time.Duration) func(context.Context) error {
	start := time.Now()
	return func(context.Context) error {
		if time.Since(start) >= d {
			return errBroken
		}
		return nil
	}
}

func blocked(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestFailedEnqueueEndsTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.enqueue = breakAfter(2 * time.Second)
		cfg := config(b, workload(func(w *scenario.Workload) { w.Batch = 3 }))
		launched := time.Now()
		o, err := Run(t.Context(), cfg)
		require.ErrorIs(t, err, errBroken)
		assert.Nil(t, o)
		assert.ErrorContains(t, err, "enqueue to t")
		assert.InDelta(t, 2*time.Second, time.Since(launched), float64(2*time.Millisecond), "the load stops at once")
		balance := cfg.Ledger.Balance()
		assert.NotZero(t, balance.Unknown)
		assert.Zero(t, balance.Unknown%3, "whole batches")
		assert.Zero(t, balance.Duplicated+balance.Corrupted)
	})
}

func TestFailedClaimEndsTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		broken := breakAfter(2 * time.Second)
		b.claim = func(ctx context.Context) (bool, int, error) {
			err := broken(ctx)
			return err != nil, 0, err
		}
		launched := time.Now()
		_, err := Run(t.Context(), config(b, workload(nil)))
		require.ErrorIs(t, err, errBroken)
		assert.ErrorContains(t, err, "claim for t")
		assert.Less(t, time.Since(launched), 2100*time.Millisecond)
	})
}

// The completion of one slot fails while the other's is in flight. The outcome of both is unknown.
func TestFailedCompletionLeavesTasksInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		var calls atomic.Int32
		b.complete = func(ctx context.Context) error {
			if calls.Add(1) == 2 {
				return blocked(ctx)
			}
			return errors.Join(wait(ctx, 100*time.Millisecond), errBroken)
		}
		cfg := config(b, workload(func(w *scenario.Workload) { w.Producers, w.Workers, w.Tenants, w.Queues = 1, 2, 1, 1 }))
		_, err := Run(t.Context(), cfg)
		require.ErrorIs(t, err, errBroken)
		assert.ErrorContains(t, err, "complete for t0")
		balance := cfg.Ledger.Balance()
		assert.Zero(t, balance.Completed)
		assert.Equal(t, balance.Enqueued-2, balance.Lost, "two may have been completed, the others are lost")
	})
}

func TestFirstErrorWinsAndOthersAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		var calls atomic.Int32
		release := make(chan struct{})
		b.enqueue = func(context.Context) error {
			if calls.Add(1) == 4 {
				close(release)
			}
			<-release
			return errBroken
		}
		_, err := Run(t.Context(), config(b, workload(nil)))
		require.ErrorIs(t, err, errBroken)
		assert.ErrorContains(t, err, "(and 3 more failed)")
	})
}

func TestDriverThatBreaksItsContract(t *testing.T) {
	for name, n := range map[string]int{"returned no task and no error": 0, "returned 2 tasks for at most 1": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				b.claim = func(context.Context) (bool, int, error) { return true, n, nil }
				_, err := Run(t.Context(), config(b, workload(nil)))
				assert.ErrorContains(t, err, name)
			})
		})
	}
}

func TestBlockedCallsEndWithTheDrain(t *testing.T) {
	cases := map[string]struct {
		fault         func(*broker)
		lost, unknown bool
	}{
		"claim": {func(b *broker) {
			b.claim = func(ctx context.Context) (bool, int, error) { return true, 0, blocked(ctx) }
		}, true, false},
		"complete": {func(b *broker) { b.complete = blocked }, true, false},
		"enqueue":  {func(b *broker) { b.enqueue = blocked }, false, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				c.fault(b)
				cfg := config(b, workload(nil))
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				assert.False(t, o.Drained)
				assert.Zero(t, o.Cycles)
				assert.Equal(t, 13*time.Second, o.Finished.Sub(o.Launched))
				assert.Equal(t, o.Finished, time.Now(), "Run returns at the end of the drain")
				balance := cfg.Ledger.Balance()
				assert.Equal(t, c.lost, balance.Lost > 0)
				assert.Equal(t, balance.Enqueued, balance.Lost)
				assert.Equal(t, c.unknown, balance.Unknown > 0)
			})
		})
	}
}

func TestDriverThatDoesNotHeedItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		release := make(chan struct{})
		b.claim = func(context.Context) (bool, int, error) {
			<-release
			return true, 0, errBroken
		}
		cfg := config(b, workload(nil))
		launched := time.Now()
		_, err := Run(t.Context(), cfg)
		assert.ErrorContains(t, err, "had not returned 5s after they were cancelled")
		assert.LessOrEqual(t, time.Since(launched), 13*time.Second+2*stopMargin)
		close(release)
	})
}

// A completion in flight when the last task is completed belongs to a task that was completed
// twice. The drain waits for its answer.
func TestDrainHearsTheLastCompletions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.ackDelay = time.Hour // one task only: its producer waits for the end of the drain
		b.enqueueDelay = 0
		cfg := config(b, workload(func(w *scenario.Workload) { w.Tenants, w.Queues, w.Producers, w.Workers = 1, 1, 1, 2 }))
		cfg.Phases.Drain = 2 * time.Hour
		b.deliverAgain = func(n int) bool { return n == 1 }
		var calls atomic.Int32
		b.complete = func(ctx context.Context) error {
			// The first call is answered while the producer waits; the second a second after the
			// drain could end.
			if calls.Add(1) == 2 {
				return wait(ctx, time.Hour+time.Second)
			}
			return nil
		}
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.True(t, o.Drained)
		assert.EqualValues(t, 1, cfg.Ledger.Balance().Duplicated)
	})
}

func TestCallerCancels(t *testing.T) {
	why := errors.New("interrupted")
	for name, after := range map[string]time.Duration{
		"in the warm-up": 500 * time.Millisecond, "in the window": 2 * time.Second, "in the drain": 5 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				launched := time.Now()
				time.AfterFunc(after, func() { cancel(why) })
				b := newBroker()
				b.loseEnqueue = every(10) // so that there is a drain
				cfg := config(b, workload(nil))
				o, err := Run(ctx, cfg)
				require.ErrorIs(t, err, why)
				assert.Nil(t, o)
				assert.Equal(t, after, time.Since(launched))
			})
		})
	}
}

func TestSessionThatCannotBeOpened(t *testing.T) {
	s := golden.Cases(t, "testdata/sessions.golden")
	t.Run("fails", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			b.open = func(context.Context) error { return errBroken }
			_, err := Run(t.Context(), config(b, workload(nil)))
			require.ErrorIs(t, err, errBroken)
			s.Error(t, "fails", err)
		})
	})
	t.Run("blocks", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			b.open = blocked
			launched := time.Now()
			_, err := Run(t.Context(), config(b, workload(nil)))
			s.Error(t, "blocks", err)
			assert.Equal(t, openTimeout, time.Since(launched))
		})
	})
	t.Run("blocks whatever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			release := make(chan struct{})
			b.open = func(context.Context) error { <-release; return nil }
			launched := time.Now()
			_, err := Run(t.Context(), config(b, workload(nil)))
			s.Error(t, "blocks whatever", err)
			assert.Equal(t, openTimeout+stopMargin, time.Since(launched))
			close(release)
		})
	})
	t.Run("is cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			b := newBroker()
			b.open = func(ctx context.Context) error { cancel(); return blocked(ctx) }
			_, err := Run(ctx, config(b, workload(nil)))
			require.ErrorIs(t, err, context.Canceled)
			assert.ErrorContains(t, err, "load: stopped")
		})
	})
}

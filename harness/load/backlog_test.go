package load

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

func TestFillAndDrain(t *testing.T) {
	for name, change := range map[string]func(*scenario.Workload){
		"one task a call": nil,
		"batches":         func(w *scenario.Workload) { w.Batch = 7 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				cfg := config(b, workload(change))
				var phases []string
				cfg.Hooks.Progress = func(p Progress) { phases = append(phases, p.Phase) }
				started := time.Now()
				filled, err := Fill(t.Context(), cfg, 5000, time.Hour)
				require.NoError(t, err)
				assert.EqualValues(t, 5000, filled.Tasks)
				assert.Equal(t, started, filled.Started)
				assert.Equal(t, time.Now(), filled.Finished)
				assert.Len(t, b.ready, 5000, "nobody claims")
				assert.Empty(t, b.sessions)
				assert.EqualValues(t, 5000, cfg.Ledger.Outstanding())

				time.Sleep(time.Minute) // the server may restart between Fill and Drain
				cfg.Conns = b.conns(2)
				drained, err := Drain(t.Context(), cfg, time.Hour)
				require.NoError(t, err)
				assert.True(t, drained.Complete)
				assert.EqualValues(t, 5000, drained.Cycles)
				assert.EqualValues(t, 5000, drained.SettleLatency.TotalCount())
				assert.Equal(t, drained.Started, drained.FirstClaim, "there is work at once")
				assert.Equal(t, b.completed[len(b.completed)-1].at, drained.LastComplete)
				balance := cfg.Ledger.Balance()
				assert.EqualValues(t, 5000, balance.Completed)
				assert.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted+balance.Unknown)
				if cfg.Workload.Batch == 1 { // one task per call takes long enough for a report
					assert.Subset(t, phases, []string{"filling", "draining"})
				}
			})
		})
	}
}

// A round's ledger covers the backlog, the window and the drain.
func TestBacklogAfterARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		cfg := config(b, workload(nil))
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		_, err = Fill(t.Context(), cfg, 100, time.Minute)
		require.NoError(t, err)
		drained, err := Drain(t.Context(), cfg, time.Minute)
		require.NoError(t, err)
		assert.EqualValues(t, 100, drained.Cycles)
		balance := cfg.Ledger.Balance()
		assert.Equal(t, countWithin(b.completed, o.Launched, time.Now()), balance.Completed)
		assert.Equal(t, balance.Enqueued, balance.Completed)
	})
}

func TestFillThatCannotEnd(t *testing.T) {
	s := golden.Cases(t, "testdata/fill.golden")
	for name, c := range map[string]struct {
		fault func(*broker)
		after time.Duration
	}{
		"the time is up": {func(b *broker) { b.ackDelay = time.Second }, 10 * time.Second},
		"a task is refused": {func(b *broker) {
			b.refuseEnqueue = func(n int) error {
				if n == 100 {
					return errors.New("the queue is full")
				}
				return nil
			}
		}, time.Second},
		"a call fails": {func(b *broker) { b.enqueue = breakAfter(time.Second) }, 2 * time.Second},
		"a call hangs": {func(b *broker) { b.enqueue = blocked }, 10 * time.Second},
		"no session":   {func(b *broker) { b.open = func(context.Context) error { return errBroken } }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				c.fault(b)
				started := time.Now()
				_, err := Fill(t.Context(), config(b, workload(func(w *scenario.Workload) { w.Producers, w.Tenants = 1, 1 })), 5000, 10*time.Second)
				s.Error(t, name, err)
				assert.LessOrEqual(t, time.Since(started), c.after)
			})
		})
	}
}

func TestDrainThatDoesNotEnd(t *testing.T) {
	fill := func(t *testing.T, b *broker) Config {
		cfg := config(b, workload(nil))
		_, err := Fill(t.Context(), cfg, 1000, time.Hour)
		require.NoError(t, err)
		return cfg
	}
	t.Run("a task does not come back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			cfg := fill(t, b)
			b.ready = b.ready[1:]
			started := time.Now()
			drained, err := Drain(t.Context(), cfg, 10*time.Second)
			require.NoError(t, err)
			assert.False(t, drained.Complete)
			assert.Equal(t, 10*time.Second, time.Since(started))
			assert.EqualValues(t, 999, drained.Cycles)
			assert.EqualValues(t, 1, cfg.Ledger.Balance().Lost)
		})
	})
	t.Run("no task comes back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			cfg := fill(t, b)
			b.ready = nil
			_, err := Drain(t.Context(), cfg, 10*time.Second)
			require.ErrorContains(t, err, "no task of the backlog was claimed and completed")
		})
	})
	t.Run("the server may have no task", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			cfg := config(b, workload(nil))
			cfg.Persist = true
			cfg.Ledger.Unknown(0, cfg.Ledger.Sent(0, 5), 5)
			drained, err := Drain(t.Context(), cfg, 10*time.Second)
			require.NoError(t, err)
			assert.True(t, drained.Complete)
			assert.Zero(t, drained.FirstClaim)
			assert.Zero(t, drained.Cycles)
		})
	})
	t.Run("a call fails", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			cfg := fill(t, b)
			b.completeDelay = time.Second
			b.complete = breakAfter(2 * time.Second)
			_, err := Drain(t.Context(), cfg, time.Hour)
			require.ErrorIs(t, err, errBroken)
		})
	})
	t.Run("a completion is refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			cfg := fill(t, b)
			b.refuseComplete = func(n int) (error, bool) {
				if n == 10 {
					return errors.New("stale token"), true
				}
				return nil, false
			}
			drained, err := Drain(t.Context(), cfg, time.Hour)
			require.NoError(t, err)
			assert.True(t, drained.Complete)
			assert.Equal(t, Refusals{Count: 1, First: "stale token"}, drained.RefusedCompletions)
		})
	})
	t.Run("the caller cancels", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			cfg := fill(t, b)
			b.claim = func(ctx context.Context) (bool, int, error) { return true, 0, blocked(ctx) }
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			started := time.Now()
			_, err := Drain(ctx, cfg, time.Hour)
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, time.Second, time.Since(started))
		})
	})
}

func TestStagesNeedAWorkload(t *testing.T) {
	s := golden.Cases(t, "testdata/stages.golden")
	cfg := config(newBroker(), workload(nil))
	cfg.Conns = nil
	_, err := Fill(t.Context(), cfg, 1, time.Second)
	s.Error(t, "fill", err)
	_, err = Drain(t.Context(), cfg, time.Second)
	s.Error(t, "drain", err)
}

// Without tasks the workers wait for the whole window and make no calls.
func TestNothingArrives(t *testing.T) {
	for _, workers := range []int{0, 3} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			cfg := config(b, workload(func(w *scenario.Workload) {
				w.Arrivals.Kind, w.Producers, w.Workers = scenario.None, 0, workers
			}))
			cfg = withCalls(cfg, func([]driver.Task) { t.Error("a task was sent") })
			var edges []time.Time
			edge := func(context.Context) error { edges = append(edges, time.Now()); return nil }
			cfg.Hooks.WindowStart, cfg.Hooks.WindowEnd = edge, edge
			launched := time.Now()
			o, err := Run(t.Context(), cfg)
			require.NoError(t, err)
			assert.Equal(t, []time.Time{launched.Add(time.Second), launched.Add(3 * time.Second)}, edges)
			assert.Equal(t, 3*time.Second, o.Finished.Sub(launched))
			assert.True(t, o.Drained)
			assert.Zero(t, o.Cycles)
			assert.Nil(t, o.Open)
		})
	}
}

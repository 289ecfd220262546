package load

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

// broken returns a fault that fails each call between two times.
func broken(from, to time.Duration) func(context.Context) error {
	start := time.Now()
	return func(context.Context) error {
		if since := time.Since(start); since >= from && since < to {
			return errBroken
		}
		return nil
	}
}

func persistent(b *broker, w scenario.Workload) Config {
	cfg := config(b, w)
	cfg.Persist = true
	cfg.Phases.Window = 4 * time.Second
	cfg.pause = timerPause{}
	return cfg
}

func TestAPersistentLoadGoesOnAfterAnOutage(t *testing.T) {
	for name, bound := range map[string]func(*scenario.Workload){
		"closed":             nil,
		"closed and bounded": func(w *scenario.Workload) { w.InFlight = 4 },
		"open": func(w *scenario.Workload) {
			w.Arrivals, w.InFlight = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: 1000}}, 100
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				out := broken(2*time.Second, 3*time.Second)
				b.enqueue, b.complete = out, out
				// A bounded load stops, because unanswered tasks fill its limit.
				if name != "closed and bounded" {
					b.claim = func(ctx context.Context) (bool, int, error) {
						err := out(ctx)
						return err != nil, 0, err
					}
				}
				cfg := persistent(b, workload(bound))
				launched := time.Now()
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				balance := cfg.Ledger.Balance()
				assert.NotZero(t, balance.Unknown, "tasks were sent in the outage")
				assert.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted)
				if o.Open != nil {
					requireComplete(t, o)
				}
				assert.True(t, o.Drained)
				assert.NotZero(t, o.FailedCalls.Count)
				assert.Contains(t, o.FailedCalls.First, errBroken.Error())
				assert.Less(t, o.FailedCalls.Count, uint64(5000), "producers and slots pause after a failure")
				assert.Zero(t, o.RefusedEnqueues.Count+o.RefusedCompletions.Count)
				before := countWithin(b.completed, launched, launched.Add(2*time.Second))
				during := countWithin(b.completed, launched.Add(2050*time.Millisecond), launched.Add(3*time.Second))
				after := countWithin(b.completed, launched.Add(3250*time.Millisecond), o.WindowEnd)
				assert.Zero(t, during)
				rate := func(n uint64, d time.Duration) float64 { return float64(n) / d.Seconds() }
				assert.Greater(t, rate(after, o.WindowEnd.Sub(launched.Add(3250*time.Millisecond))), rate(before, 2*time.Second)*0.9,
					"the rate recovers: the in-flight limit is not reduced")
			})
		})
	}
}

// The cycle histogram contains tasks whose enqueue or completion was never answered, censored at
// the window's end, like tasks that were completed late. A task whose later completion is answered
// is there once, with its latency.
func TestTasksOfUnknownOutcomeAreCensored(t *testing.T) {
	const every = 10 // task or completion
	broken := fmt.Errorf("%w: reset", driver.ErrUnknown)
	for name, fault := range map[string]func(*broker){
		"enqueues": func(b *broker) {
			b.refuseEnqueue = func(n int) error {
				if n%every == 0 {
					return broken
				}
				return nil
			}
		},
		"completions": func(b *broker) {
			b.refuseComplete = func(n int) (error, bool) {
				if n%every == 0 {
					return broken, n%(2*every) == 0 // every second one is delivered again
				}
				return nil, false
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				fault(b)
				cfg := persistent(b, workload(func(w *scenario.Workload) {
					w.Arrivals, w.InFlight = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: 100}}, 1000
				}))
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				balance := cfg.Ledger.Balance()
				unheard := balance.Unknown + balance.InDoubt
				require.NotZero(t, unheard)
				requireComplete(t, o)
				assert.Greater(t, time.Duration(o.CycleLatency.ValueAtPercentile(99)), 2*time.Second, "some intended starts are early in the window")
				assert.Less(t, time.Duration(o.CycleLatency.ValueAtPercentile(80)), 100*time.Millisecond)
			})
		})
	}
}

// A task whose enqueue or completion is never answered leaves the in-flight limit, and does not
// leave it again when it is completed later.
func TestATaskOfUnknownOutcomeGivesItsRoomBackOnce(t *testing.T) {
	const inFlight, every = 20, 10
	closed, timed := scenario.Arrivals{Kind: scenario.Closed}, scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: 4000}}
	for name, c := range map[string]struct {
		arrivals scenario.Arrivals
		ackDelay time.Duration
	}{
		"closed":                              {closed, time.Millisecond},
		"open":                                {timed, time.Millisecond},
		"closed, completed before the answer": {closed, 50 * time.Millisecond},
		"open, completed before the answer":   {timed, 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				b.ackDelay, b.completeDelay = c.ackDelay, 20*time.Millisecond
				start := time.Now()
				early := func() bool { return time.Since(start) < 2*time.Second }
				b.unheardEnqueue = func(n int) bool { return n%every == 0 && early() }
				b.refuseComplete = func(n int) (error, bool) {
					if n%every == 0 && early() {
						// The task is delivered again.
						return fmt.Errorf("%w: reset", driver.ErrUnknown), true
					}
					return nil, false
				}
				cfg := persistent(b, workload(func(w *scenario.Workload) {
					w.Arrivals, w.InFlight, w.Batch, w.Producers, w.Workers = c.arrivals, inFlight, 1, 100, 40
				}))
				most := 0
				time.AfterFunc(3*time.Second, func() { b.mu.Lock(); b.heldMax = b.held; b.mu.Unlock() })
				time.AfterFunc(3990*time.Millisecond, func() { b.mu.Lock(); most = b.heldMax; b.mu.Unlock() })
				_, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				balance := cfg.Ledger.Balance()
				assert.Greater(t, balance.Unknown, uint64(50))
				assert.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted)
				assert.Equal(t, inFlight, most, "the full limit is in use, long after the last unknown outcome")
			})
		})
	}
}

func TestADrainWaitsNotForTasksThatMayNotBeThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.complete = func() func(context.Context) error {
			var calls atomic.Int32
			return func(context.Context) error {
				if calls.Add(1) == 5 {
					return errBroken // and the lease does not expire
				}
				return nil
			}
		}()
		cfg := persistent(b, workload(nil))
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.True(t, o.Drained)
		assert.Equal(t, uint64(1), o.FailedCalls.Count)
		balance := cfg.Ledger.Balance()
		assert.Equal(t, uint64(1), balance.InDoubt)
		assert.Zero(t, balance.Lost)
		assert.InDelta(t, drainQuiet, o.Finished.Sub(o.WindowEnd), float64(200*time.Millisecond))
	})
}

func TestADrainWaitsForTasksThatAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.loseEnqueue = func(n int) bool { return n == 7 }
		var calls atomic.Int32
		b.complete = func(context.Context) error {
			if calls.Add(1) == 5 {
				return errBroken
			}
			return nil
		}
		cfg := persistent(b, workload(nil))
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.False(t, o.Drained, "one task was acknowledged and never delivered")
		assert.Equal(t, uint64(1), cfg.Ledger.Balance().Lost)
	})
}

// In a batch, the outcome of one item may be unknown while the others are known.
func TestItemsOfUnknownOutcome(t *testing.T) {
	unknown := fmt.Errorf("%w: the lead was lost", driver.ErrUnknown)
	lead := func(b *broker) {
		b.refuseEnqueue = func(n int) error {
			if n == 11 {
				return unknown
			}
			return nil
		}
		b.refuseComplete = func(n int) (error, bool) {
			if n == 21 {
				return unknown, false
			}
			return nil, false
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		lead(b)
		cfg := persistent(b, workload(func(w *scenario.Workload) { w.Batch = 3 }))
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.True(t, o.Drained)
		balance := cfg.Ledger.Balance()
		assert.Equal(t, uint64(1), balance.Unknown)
		assert.Equal(t, uint64(1), balance.InDoubt)
		assert.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted)
		assert.Zero(t, o.RefusedEnqueues.Count+o.RefusedCompletions.Count)
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		lead(b)
		_, err := Run(t.Context(), config(b, workload(func(w *scenario.Workload) { w.Batch = 3 })))
		require.ErrorIs(t, err, driver.ErrUnknown, "a load that does not persist ends")
	})
}

func TestAPersistentLoadEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.enqueue = breakAfter(time.Second)
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("enough")
		time.AfterFunc(2*time.Second, func() { cancel(reason) })
		_, err := Run(ctx, persistent(b, workload(nil)))
		require.ErrorIs(t, err, reason)
	})
}

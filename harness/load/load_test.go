package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The tests run in a synctest bubble with virtual time. They neither wait nor depend on speed, and
// a leaked goroutine fails them.

func workload(change func(*scenario.Workload)) scenario.Workload {
	w := scenario.Workload{
		Tenants: 2, Queues: 2, Producers: 4, Workers: 8, Batch: 1,
		Payload:  scenario.Payload{Kind: "fixed", Min: 64, Max: 64},
		Arrivals: scenario.Arrivals{Kind: "closed"},
	}
	if change != nil {
		change(&w)
	}
	return w
}

func config(b *broker, w scenario.Workload) Config {
	return Config{
		Workload: w,
		Phases:   scenario.Phases{Warmup: time.Second, Window: 2 * time.Second, Drain: 10 * time.Second},
		Conns:    b.conns(2),
		Ledger:   NewLedger(42, w),
	}
}

// brief has a quarter of the calls, for tests that do not depend on the length of the phases.
func brief(cfg Config) Config {
	cfg.Phases.Warmup, cfg.Phases.Window = 250*time.Millisecond, 500*time.Millisecond
	return cfg
}

func TestCleanRound(t *testing.T) {
	cases := map[string]func(*scenario.Workload){
		"one task a call":              nil,
		"batches":                      func(w *scenario.Workload) { w.Batch = 7 },
		"one of each":                  func(w *scenario.Workload) { w.Tenants, w.Queues, w.Producers, w.Workers = 1, 1, 1, 1 },
		"fewer producers than queues":  func(w *scenario.Workload) { w.Tenants, w.Queues, w.Producers, w.Workers = 3, 4, 5, 7 },
		"fewer producers than tenants": func(w *scenario.Workload) { w.Tenants, w.Queues, w.Producers, w.Workers = 5, 1, 2, 5 },
		"variable sizes": func(w *scenario.Workload) {
			w.Batch, w.Payload = 3, scenario.Payload{Kind: "uniform", Min: 32, Max: 40}
		},
		"chosen queues": func(w *scenario.Workload) {
			w.Producers, w.Queues, w.Keys = 1, 3, scenario.Keys{Kind: "zipf", Skew: 1}
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				w := workload(change)
				cfg := config(b, w)
				launched := time.Now()
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)

				assert.True(t, o.Drained)
				assert.Equal(t, launched, o.Launched)
				assert.Equal(t, launched.Add(time.Second), o.WindowStart)
				assert.Equal(t, launched.Add(3*time.Second), o.WindowEnd)
				assert.Equal(t, 2*time.Second, o.Window)
				assert.False(t, o.Finished.Before(o.WindowEnd))

				// Only calls that were acknowledged inside the window count.
				assert.Equal(t, countWithin(b.completed, o.WindowStart, o.WindowEnd), o.Cycles)
				assert.Equal(t, countWithin(b.acknowledged, o.WindowStart, o.WindowEnd), o.Enqueued)
				assert.NotZero(t, o.Cycles)
				assert.NotZero(t, countWithin(b.completed, launched, o.WindowStart), "the warm-up has cycles")
				assert.NotZero(t, countWithin(b.completed, o.WindowEnd, o.Finished.Add(1)), "the drain has cycles")

				balance := cfg.Ledger.Balance()
				all := countWithin(b.completed, launched, o.Finished.Add(1))
				assert.Equal(t, all, balance.Completed)
				assert.Equal(t, all, balance.Enqueued)
				assert.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted+balance.Unknown, "%v", balance.Samples)

				assert.EqualValues(t, o.Enqueued, o.EnqueueLatency.TotalCount())
				assert.EqualValues(t, o.Cycles, o.SettleLatency.TotalCount())
				assert.EqualValues(t, o.Cycles, o.CycleLatency.TotalCount())
				assert.Zero(t, o.Clamped+o.RefusedEnqueues.Count+o.RefusedCompletions.Count)

				assert.Len(t, b.sent, w.Tenants*w.Queues, "all queues are used")
				assert.Len(t, b.sessions, min(w.Workers, 2*w.Tenants), "all tenants have workers, over both connections")
				slots := 0
				for _, n := range b.sessions {
					slots += n
				}
				assert.Equal(t, w.Workers*w.Batch, slots)
				for size := range b.sizes {
					assert.True(t, w.Payload.Min <= size && size <= w.Payload.Max, "size %d", size)
				}
				assert.Len(t, b.sizes, w.Payload.Max-w.Payload.Min+1, "all sizes occur")
			})
		})
	}
}

// A second is a multiple of all delays, so that acknowledgements arrive exactly at the edges.
func TestWindowHasItsStartAndNotItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.enqueueDelay, b.ackDelay, b.completeDelay = time.Millisecond, 4*time.Millisecond, 4*time.Millisecond
		o, err := Run(t.Context(), config(b, workload(func(w *scenario.Workload) { w.Workers = 40 })))
		require.NoError(t, err)
		for name, instants := range map[string][]instant{"completed": b.completed, "acknowledged": b.acknowledged} {
			require.NotZero(t, countWithin(instants, o.WindowStart, o.WindowStart.Add(1)), name)
			require.NotZero(t, countWithin(instants, o.WindowEnd, o.WindowEnd.Add(1)), name)
		}
		assert.Equal(t, countWithin(b.completed, o.WindowStart, o.WindowEnd), o.Cycles)
		assert.Equal(t, countWithin(b.acknowledged, o.WindowStart, o.WindowEnd), o.Enqueued)
	})
}

func TestLatencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.enqueueDelay, b.ackDelay, b.completeDelay = 2*time.Millisecond, time.Millisecond, 5*time.Millisecond
		o, err := Run(t.Context(), config(b, workload(func(w *scenario.Workload) { w.Workers = 40 })))
		require.NoError(t, err)
		for _, q := range []float64{1, 50, 100} {
			assert.InEpsilon(t, 3*time.Millisecond, o.EnqueueLatency.ValueAtPercentile(q), 0.01, "p%v", q)
			assert.InEpsilon(t, 5*time.Millisecond, o.SettleLatency.ValueAtPercentile(q), 0.01, "p%v", q)
			assert.InEpsilon(t, 7*time.Millisecond, o.CycleLatency.ValueAtPercentile(q), 0.01, "p%v", q)
		}
	})
}

func TestCycleLatencyCountsTheWaitForAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.completeDelay = 100 * time.Millisecond
		cfg := config(b, workload(func(w *scenario.Workload) { w.Tenants, w.Queues, w.Producers, w.Workers = 1, 1, 1, 1 }))
		cfg.Phases.Drain = time.Hour
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.InEpsilon(t, 100*time.Millisecond, o.SettleLatency.Max(), 0.01)
		assert.Greater(t, o.CycleLatency.Max(), int64(2*time.Second), "tasks wait longer and longer")
		assert.True(t, o.Drained)
	})
}

func TestLatencyBeyondTheRangeIsClampedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.completeDelay = 70 * time.Second
		cfg := config(b, workload(nil))
		cfg.Phases.Window, cfg.Phases.Drain = 200*time.Second, time.Hour
		cfg.Workload.Producers = 1
		b.enqueueDelay = 40 * time.Second
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		require.NotZero(t, o.Cycles)
		assert.Equal(t, 2*o.Cycles, o.Clamped, "settle and cycle latency of each")
		assert.EqualValues(t, o.Cycles, o.CycleLatency.TotalCount())
		assert.InEpsilon(t, result.LatencyHighest, o.CycleLatency.Max(), 0.01)
	})
}

func every(k int) func(int) bool { return func(n int) bool { return n%k == 0 } }

func TestFaultsOfTheServer(t *testing.T) {
	refused := errors.New("stale token")
	cases := map[string]struct {
		fault                       func(*broker)
		drained                     bool
		lost, duplicated, corrupted bool
		misrouted, reordered        bool
		sample                      string
	}{
		"loses a task": {
			fault: func(b *broker) { b.loseEnqueue = every(100) }, lost: true, sample: "lost: producer ",
		},
		"delivers a completed task again": {
			fault: func(b *broker) { b.redeliver = every(100) }, drained: true, duplicated: true, sample: "duplicated: producer ",
		},
		"flips a bit": {
			fault: func(b *broker) {
				b.deliver = func(n int, d *driver.Delivery) {
					if n%100 == 0 {
						d.Payload[n%len(d.Payload)] ^= 16
					}
				}
			},
			drained: true, corrupted: true, lost: true, sample: "corrupted: a task claimed from t",
		},
		"cuts a payload off": {
			fault: func(b *broker) {
				b.deliver = func(n int, d *driver.Delivery) {
					if n%100 == 0 {
						d.Payload = d.Payload[:n%64]
					}
				}
			},
			drained: true, corrupted: true, lost: true, sample: "corrupted: a task claimed from t",
		},
		"swaps queues": {
			fault: func(b *broker) {
				b.deliver = func(n int, d *driver.Delivery) {
					if n%100 == 0 {
						d.Queue = map[string]string{"q0": "q1", "q1": "q0"}[d.Queue]
					}
				}
			},
			drained: true, misrouted: true, sample: "misrouted: producer ",
		},
		"shows a tenant another's tasks": {
			fault: func(b *broker) { b.crossTenants = true }, drained: true, misrouted: true, sample: "misrouted: producer ",
		},
		"hands out a task before the one enqueued before it": {
			fault: func(b *broker) {
				b.completeDelay = time.Millisecond // so that tasks wait
				b.overtake = every(100)
			},
			drained: true, reordered: true, sample: "reordered: producer ",
		},
		"refuses a completion and never delivers the task again": {
			fault: func(b *broker) {
				b.refuseComplete = func(n int) (error, bool) {
					if n%100 == 0 {
						return refused, false
					}
					return nil, false
				}
			},
			lost: true, sample: "enqueue acknowledged, completion refused",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				c.fault(b)
				// One worker for each tenant defines the order.
				cfg := brief(config(b, workload(func(w *scenario.Workload) { w.Workers = w.Tenants })))
				cfg.Ledger.WatchOrder()
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				assert.Equal(t, c.drained, o.Drained)
				balance := cfg.Ledger.Balance()
				assert.Equal(t, c.lost, balance.Lost > 0, "lost %d", balance.Lost)
				assert.Equal(t, c.duplicated, balance.Duplicated > 0, "duplicated %d", balance.Duplicated)
				assert.Equal(t, c.corrupted, balance.Corrupted > 0, "corrupted %d", balance.Corrupted)
				assert.Equal(t, c.misrouted, balance.Misrouted > 0, "misrouted %d", balance.Misrouted)
				assert.Equal(t, c.reordered, balance.Reordered > 0, "reordered %d", balance.Reordered)
				assert.Contains(t, strings.Join(balance.Samples, "\n"), c.sample)
				if !c.drained {
					assert.Equal(t, o.WindowEnd.Add(cfg.Phases.Drain), o.Finished)
				}
				if c.corrupted || c.misrouted {
					assert.Less(t, o.Cycles, countWithin(b.completed, o.WindowStart, o.WindowEnd),
						"only a sound task is a cycle")
				}
			})
		})
	}
}

func TestRefusedCompletionsAreNoCycles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.refuseComplete = func(n int) (error, bool) {
			if n%10 == 0 {
				return errors.New("lease expired"), true
			}
			return nil, false
		}
		cfg := config(b, workload(func(w *scenario.Workload) { w.Batch = 3 }))
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.True(t, o.Drained)
		assert.Equal(t, countWithin(b.completed, o.WindowStart, o.WindowEnd), o.Cycles)
		assert.EqualValues(t, o.Cycles, o.SettleLatency.TotalCount())
		assert.EqualValues(t, b.completes/10, o.RefusedCompletions.Count)
		assert.Equal(t, "lease expired", o.RefusedCompletions.First)
		assert.Equal(t, o.RefusedCompletions.Count, cfg.Ledger.Totals().CompletionsRefused)
		balance := cfg.Ledger.Balance()
		assert.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted)
	})
}

func TestRefusedEnqueuesAreNotExpected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.refuseEnqueue = func(n int) error {
			if n%5 == 0 {
				return fmt.Errorf("queue is full")
			}
			return nil
		}
		cfg := config(b, workload(func(w *scenario.Workload) { w.Batch = 7 }))
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.True(t, o.Drained)
		assert.Equal(t, countWithin(b.acknowledged, o.WindowStart, o.WindowEnd), o.Enqueued)
		assert.EqualValues(t, o.Enqueued, o.EnqueueLatency.TotalCount())
		assert.EqualValues(t, b.enqueues/5, o.RefusedEnqueues.Count)
		assert.Equal(t, "queue is full", o.RefusedEnqueues.First)
		balance := cfg.Ledger.Balance()
		assert.EqualValues(t, b.enqueues-b.enqueues/5, balance.Enqueued)
		assert.Equal(t, balance.Enqueued, balance.Completed)
		assert.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted+balance.Unknown)
	})
}

func TestConcurrentGoroutinesInRealTime(t *testing.T) {
	b := newBroker()
	b.enqueueDelay, b.ackDelay, b.completeDelay = 0, 0, 0
	cfg := config(b, workload(func(w *scenario.Workload) { w.Batch = 4 }))
	cfg.Phases = scenario.Phases{Window: 50 * time.Millisecond, Drain: time.Minute}
	cfg.Hooks.Progress = func(Progress) {}
	o, err := Run(context.Background(), cfg)
	require.NoError(t, err)
	assert.True(t, o.Drained)
	balance := cfg.Ledger.Balance()
	assert.Equal(t, balance.Enqueued, balance.Completed)
	assert.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted+balance.Unknown)
}

// With an in-flight limit producers wait for the workers, and the limit is never exceeded.
func TestTasksInFlightAreBounded(t *testing.T) {
	for name, change := range map[string]func(*scenario.Workload){
		"one task a call": func(w *scenario.Workload) { w.InFlight = 10 },
		"batches":         func(w *scenario.Workload) { w.Batch, w.InFlight = 7, 15 },
		"a single call":   func(w *scenario.Workload) { w.Batch, w.InFlight = 7, 7 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				b.completeDelay = 50 * time.Millisecond // far slower than the producers
				sent, refused, most := 0, 0, 0          // the broker's mu guards them
				b.refuseEnqueue = func(n int) error {
					if n%11 == 0 {
						refused++
						return errors.New("queue is full")
					}
					return nil
				}
				// The ledger sums one producer after the other; only the broker sees the number in
				// flight at one time.
				cfg := withCalls(config(b, workload(change)), func(tasks []driver.Task) {
					b.mu.Lock()
					defer b.mu.Unlock()
					sent += len(tasks)
					most = max(most, sent-refused-b.completes)
				})
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				assert.True(t, o.Drained)
				bound := cfg.Workload.InFlight / cfg.Workload.Batch * cfg.Workload.Batch
				assert.LessOrEqual(t, most, bound)
				assert.Greater(t, o.Cycles, uint64(20), "the load reaches the limit")
				assert.Less(t, o.Finished.Sub(o.WindowEnd), time.Second, "there is hardly anything to drain")
				balance := cfg.Ledger.Balance()
				assert.Equal(t, balance.Enqueued, balance.Completed)
			})
		})
	}
}

// Producers that wait for the in-flight limit when the window ends send nothing more, even if the
// limit then allows it.
func TestProducersThatWaitForRoomStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		start := time.Now()
		b.claim = func(ctx context.Context) (bool, int, error) {
			// The call returns a second after the window.
			if err := wait(ctx, time.Until(start.Add(4*time.Second))); err != nil {
				return true, 0, err
			}
			return false, 0, nil
		}
		o, err := Run(t.Context(), config(b, workload(func(w *scenario.Workload) { w.InFlight = 5 })))
		require.NoError(t, err)
		assert.True(t, o.Drained)
		assert.Equal(t, 5, b.enqueues)
	})
}

func TestProducersThatWaitForRoomAreCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.claim = func(ctx context.Context) (bool, int, error) { return true, 0, blocked(ctx) }
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		launched := time.Now()
		_, err := Run(ctx, config(b, workload(func(w *scenario.Workload) { w.InFlight = 5 })))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 2*time.Second, time.Since(launched))
		assert.Len(t, b.ready, 5)
	})
}

package load

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

// slicesOf opens slices of a workload on a broker, and ends them at the end of the test.
func slicesOf(t *testing.T, b *broker, change func(*scenario.Workload)) (*Slices, Config) {
	cfg := config(b, workload(change))
	cfg.pause = timerPause{} // virtual time
	s, err := OpenSlices(t.Context(), cfg)
	require.NoError(t, err)
	return s, cfg
}

// calls returns the number of tasks enqueued and completed so far.
func (b *broker) calls() (enqueues, completes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.enqueues, b.completes
}

func TestNothingIsInFlightBetweenSlices(t *testing.T) {
	for name, change := range map[string]func(*scenario.Workload){
		"one task a call":             nil,
		"batches":                     func(w *scenario.Workload) { w.Batch = 7 },
		"an in-flight limit":          func(w *scenario.Workload) { w.Batch, w.InFlight = 3, 7 },
		"one of each":                 func(w *scenario.Workload) { w.Tenants, w.Queues, w.Producers, w.Workers = 1, 1, 1, 1 },
		"arrivals that do not matter": func(w *scenario.Workload) { w.Arrivals = scenario.Arrivals{Kind: scenario.Open} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				s, cfg := slicesOf(t, b, change)
				time.Sleep(time.Second) // virtual time
				enqueues, _ := b.calls()
				require.Zero(t, enqueues, "the load waits for the first slice")
				var cycles uint64
				for i := range 20 {
					open := i%3 == 2
					length := time.Duration(10+i) * time.Millisecond
					begun, before := time.Now(), cfg.Ledger.Totals().Completed
					if open {
						require.NoError(t, s.OpenSlice(t.Context(), uint64(i), 1000, length))
						cycles += cfg.Ledger.Totals().Completed - before
						require.GreaterOrEqual(t, time.Since(begun), length)
					} else {
						n, took, err := s.Slice(t.Context(), length)
						require.NoError(t, err)
						require.NotZero(t, n)
						require.GreaterOrEqual(t, took, length)
						require.Less(t, took, length+200*time.Millisecond, "the calls take a few milliseconds each")
						cycles += n
					}
					require.Zero(t, cfg.Ledger.Outstanding())
					enqueues, completes := b.calls()
					require.Equal(t, enqueues, completes)
					require.EqualValues(t, cycles, completes)
					time.Sleep(time.Second) // virtual time
					later, _ := b.calls()
					require.Equal(t, enqueues, later, "nothing is sent between slices")
				}
				latency, err := s.End()
				require.NoError(t, err)
				assert.NotNil(t, latency)
				balance := cfg.Ledger.Balance()
				assert.Equal(t, cycles, balance.Completed)
				assert.Equal(t, cycles, balance.Enqueued)
				assert.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted+balance.Unknown)
			})
		})
	}
}

func TestSlicesWithoutAnOpenOneHaveNoLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := slicesOf(t, newBroker(), nil)
		_, _, err := s.Slice(t.Context(), time.Millisecond)
		require.NoError(t, err)
		latency, err := s.End()
		require.NoError(t, err)
		assert.Nil(t, latency)
	})
}

// A slice ends when no task is in flight, even if the server is faulty or refuses tasks.
func TestSlicesOfAServerWithFaultsEnd(t *testing.T) {
	every := func(k int) func(int) bool { return func(n int) bool { return n%k == 0 } }
	refused := errors.New("the queue is full")
	for name, fault := range map[string]func(*broker){
		"delivered twice": func(b *broker) { b.deliverAgain = every(3) },
		"completed twice": func(b *broker) { b.redeliver = every(3) },
		"unreadable":      func(b *broker) { b.deliver = func(_ int, d *driver.Delivery) { d.Payload = d.Payload[:1] } },
		"refused": func(b *broker) {
			b.refuseEnqueue = func(n int) error { return map[bool]error{true: refused}[n%3 == 0] }
		},
		"refused and again": func(b *broker) {
			b.refuseComplete = func(n int) (error, bool) { return map[bool]error{true: refused}[n%3 == 0], n%3 == 0 }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				fault(b)
				s, cfg := slicesOf(t, b, func(w *scenario.Workload) { w.InFlight = 6 })
				for i := range 10 {
					_, _, err := s.Slice(t.Context(), 20*time.Millisecond)
					require.NoError(t, err)
					require.Zero(t, cfg.Ledger.Outstanding())
					require.NoError(t, s.OpenSlice(t.Context(), uint64(i), 1000, 20*time.Millisecond))
					require.Zero(t, cfg.Ledger.Outstanding())
				}
				assert.Zero(t, s.round.schedule.censored.clamped, "refusals of a closed slice are outside of the schedule")
				_, err := s.End()
				require.NoError(t, err)
			})
		})
	}
}

func TestSlicesCountWhatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.refuseEnqueue = func(n int) error {
			if n == 3 || n == 5 {
				return errors.New("the queue is full")
			}
			return nil
		}
		b.refuseComplete = func(n int) (error, bool) {
			if n == 4 {
				return errors.New("stale token"), true
			}
			return nil, false
		}
		s, _ := slicesOf(t, b, nil)
		_, _, err := s.Slice(t.Context(), 50*time.Millisecond)
		require.NoError(t, err)
		_, err = s.End()
		require.NoError(t, err)
		enqueues, completions := s.Refused()
		assert.Equal(t, Refusals{Count: 2, First: "the queue is full"}, enqueues)
		assert.Equal(t, Refusals{Count: 1, First: "stale token"}, completions)
	})
}

// A slice lasts exactly until the last answer.
func TestASliceTakesUntilTheLastAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*broker)
		last   func(*broker) []instant
	}{
		"of an enqueue":   {func(*broker) {}, func(b *broker) []instant { return b.acknowledged }},
		"of a completion": {func(b *broker) { b.ackDelay = 0 }, func(b *broker) []instant { return b.completed }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				c.change(b)
				s, _ := slicesOf(t, b, nil)
				for range 5 {
					begun := time.Now()
					_, took, err := s.Slice(t.Context(), 10*time.Millisecond)
					require.NoError(t, err)
					all := c.last(b)
					require.Equal(t, all[len(all)-1].at.Sub(begun), took)
				}
				_, err := s.End()
				require.NoError(t, err)
			})
		})
	}
}

// The in-flight limit holds in all slices, independent of earlier slices.
func TestInFlightLimitOfSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		s, cfg := slicesOf(t, b, func(w *scenario.Workload) { w.Batch, w.InFlight, w.Workers = 3, 5, 40 })
		limit := 3 // a closed load sends whole batches
		b.enqueue = func(context.Context) error {
			assert.LessOrEqual(t, cfg.Ledger.Outstanding(), uint64(limit))
			return nil
		}
		for i := range 5 {
			_, _, err := s.Slice(t.Context(), 50*time.Millisecond)
			require.NoError(t, err)
			b.completeDelay, limit = 400*time.Millisecond, 5
			before, _ := b.calls()
			require.NoError(t, s.OpenSlice(t.Context(), uint64(i), 1000, 250*time.Millisecond))
			after, _ := b.calls()
			assert.Equal(t, 5, after-before)
			b.completeDelay, limit = time.Millisecond, 3
		}
		_, err := s.End()
		require.NoError(t, err)
	})
}

// Tasks of an open slice do not come in whole batches. They must not affect the limit of the next
// closed slice.
func TestInFlightLimitOfAnotherWindow(t *testing.T) {
	l := newInFlightLimit(3, 3)
	l.settled(2)
	l.begin(time.Hour)
	defer l.finish.Stop()
	require.True(t, l.take(t.Context()))
	l.settled(2)
	assert.Empty(t, l.free, "one of the batch is in flight")
	l.settled(1)
	assert.Len(t, l.free, 1)
}

func TestSliceOfATargetThatStallsFails(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(*broker)
		says  string
	}{
		"a task is lost":       {func(b *broker) { b.loseEnqueue = func(n int) bool { return n == 10 } }, "1 tasks were not completed and 0 producers had no answer"},
		"a call has no answer": {func(b *broker) { b.enqueue = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() } }, "4 tasks were not completed and 4 producers had no answer"},
	} {
		for kind, slice := range map[string]func(*testing.T, *Slices) error{
			"closed": func(t *testing.T, s *Slices) error {
				_, _, err := s.Slice(t.Context(), 25*time.Millisecond)
				return err
			},
			"open": func(t *testing.T, s *Slices) error { return s.OpenSlice(t.Context(), 1, 4000, 25*time.Millisecond) },
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBroker()
					c.fault(b)
					s, _ := slicesOf(t, b, nil)
					begun := time.Now()
					err := slice(t, s)
					require.ErrorContains(t, err, "10s after a slice's end, "+c.says)
					assert.Less(t, time.Since(begun), SliceDrainMax+time.Second)
					_, _, again := s.Slice(t.Context(), time.Millisecond)
					assert.ErrorIs(t, again, err, "the load has ended")
					_, ended := s.End()
					assert.ErrorIs(t, ended, err)
				})
			})
		}
	}
}

func TestSlicesEndWithTheirContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Millisecond, cancel)
		s, _ := slicesOf(t, newBroker(), nil)
		_, _, err := s.Slice(ctx, time.Second)
		assert.ErrorIs(t, err, context.Canceled)
		_, err = s.End()
		assert.ErrorIs(t, err, context.Canceled)
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Millisecond, cancel)
		s, err := OpenSlices(ctx, config(newBroker(), workload(nil)))
		require.NoError(t, err)
		_, _, err = s.Slice(t.Context(), time.Second)
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorIs(t, s.OpenSlice(t.Context(), 1, 1, time.Second), context.Canceled)
		_, err = s.End()
		assert.ErrorIs(t, err, context.Canceled)
	})
}

func TestSliceThatCannotBeMeasured(t *testing.T) {
	texts := golden.Cases(t, "testdata/slices.golden")
	synctest.Test(t, func(t *testing.T) {
		s, _ := slicesOf(t, newBroker(), nil)
		_, _, err := s.Slice(t.Context(), 0)
		texts.Error(t, "no time", err)
		assert.Error(t, s.OpenSlice(t.Context(), 1, 1, 2*SliceMax))
		for _, perSecond := range []float64{0, -1, 1e9} {
			texts.Error(t, fmt.Sprint("rate ", perSecond), s.OpenSlice(t.Context(), 1, perSecond, time.Second))
		}
		_, _, err = s.Slice(t.Context(), time.Millisecond)
		assert.NoError(t, err, "the load continues")
		_, err = s.End()
		assert.NoError(t, err)
	})
	cfg := config(newBroker(), workload(func(w *scenario.Workload) { w.Producers = 0 }))
	_, err := OpenSlices(t.Context(), cfg)
	texts.Error(t, "no producers", err)
}

// The seed determines the arrivals, independent of the server. Each arrival counts once: with its
// response time, or censored at the slice's end.
func TestOpenSlicesCountEachArrival(t *testing.T) {
	const slices, length = 8, 250 * time.Millisecond
	arrivals := uint64(0)
	for i := range slices {
		arrivals += uint64(len(newPoisson(uint64(i), 1000, length).all))
	}
	require.InEpsilon(t, 2000, arrivals, 0.1)
	for name, c := range map[string]struct {
		fault      func(*broker)
		unfinished func(t *testing.T, n uint64)
		p50, p99   float64 // in milliseconds
		// enqueueP50 and enqueueP95 last until the enqueue was acknowledged or the slice ended.
		enqueueP50, enqueueP95 float64
	}{
		// Calls take 1.3 ms and completions 0.5 ms; there are enough producers and workers.
		"fast enough": {func(*broker) {}, func(t *testing.T, n uint64) { assert.Less(t, n, uint64(4*slices)) }, 1.2, 1.2, 1.3, 1.3},
		// Tasks of the slice's second half wait for its end, tasks of the first half longer.
		"stalled": {
			func(b *broker) { b.completeDelay = 400 * time.Millisecond },
			func(t *testing.T, n uint64) { assert.Equal(t, arrivals, n) }, 125, 248, 1.3, 1.3,
		},
		"refused": {
			func(b *broker) { b.refuseEnqueue = func(int) error { return errors.New("full") } },
			func(t *testing.T, n uint64) { assert.Equal(t, arrivals, n) }, 125, 248, 125, 237,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				c.fault(b)
				s, cfg := slicesOf(t, b, func(w *scenario.Workload) { w.Tenants, w.Queues, w.Producers, w.Workers = 1, 1, 16, 400 })
				for i := range slices {
					require.NoError(t, s.OpenSlice(t.Context(), uint64(i), 1000, length))
					_, _, err := s.Slice(t.Context(), 10*time.Millisecond)
					require.NoError(t, err)
				}
				d, err := s.End()
				require.NoError(t, err)
				assert.Equal(t, arrivals, d.Arrivals)
				c.unfinished(t, d.Unfinished)
				assert.InEpsilon(t, c.p50, d.P50Ms, 0.1)
				assert.InEpsilon(t, c.p99, d.P99Ms, 0.1)
				require.NotNil(t, d.Enqueue)
				assert.InEpsilon(t, c.enqueueP50, d.Enqueue.P50Ms, 0.1)
				assert.InEpsilon(t, c.enqueueP95, d.Enqueue.P95Ms, 0.1)
				assert.GreaterOrEqual(t, d.Enqueue.P99Ms, d.Enqueue.P95Ms)
				if c.p99 > c.p50 {
					assert.Less(t, d.P95Ms, d.P99Ms)
				}
				if c.enqueueP95 > c.enqueueP50 {
					assert.Less(t, d.Enqueue.P95Ms, d.Enqueue.P99Ms)
				}
				assert.GreaterOrEqual(t, d.P95Ms, 0.95*c.p50)
				assert.Less(t, d.SlipMsP99, 0.001)
				assert.Zero(t, cfg.Ledger.Outstanding())
			})
		})
	}
}

// The percentiles of several open slices are over all their arrivals, independent of the number in
// each slice.
func TestPercentilesAreOfAllOpenSlicesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		s, _ := slicesOf(t, b, func(w *scenario.Workload) { w.Tenants, w.Queues, w.Producers, w.Workers = 1, 1, 16, 400 })
		for i := range 8 {
			if i == 5 {
				b.completeDelay = 40 * time.Millisecond
			} else {
				b.completeDelay = time.Millisecond
			}
			perSecond := 1000.0
			if i == 5 {
				perSecond = 250 // 62 of about 1800 arrivals
			}
			require.NoError(t, s.OpenSlice(t.Context(), uint64(i), perSecond, 250*time.Millisecond))
		}
		d, err := s.End()
		require.NoError(t, err)
		const fast, stalled = 1.7, 40.7
		assert.InEpsilon(t, fast, d.P50Ms, 0.1)
		assert.InEpsilon(t, fast, d.P95Ms, 0.1, "one of thirty cycles stalled")
		assert.InEpsilon(t, stalled, d.P99Ms, 0.1)
	})
}

// Arrivals that no producer took before the slice's end count too.
func TestOpenSliceOfAGeneratorWithoutAFreeProducer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.enqueueDelay = 200 * time.Millisecond
		s, _ := slicesOf(t, b, nil)
		require.NoError(t, s.OpenSlice(t.Context(), 5, 1000, 250*time.Millisecond))
		d, err := s.End()
		require.NoError(t, err)
		assert.EqualValues(t, len(newPoisson(5, 1000, 250*time.Millisecond).all), d.Arrivals)
		assert.Greater(t, d.Unfinished, d.Arrivals*9/10)
		assert.InEpsilon(t, 125, d.P50Ms, 0.1)
		assert.InEpsilon(t, 248, d.P99Ms, 0.1)
	})
}

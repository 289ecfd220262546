package load

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

// open configures an open load with a rate.
func open(b *broker, perSecond float64, change func(*scenario.Workload)) Config {
	cfg := config(b, workload(func(w *scenario.Workload) {
		w.Arrivals = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: perSecond}}
		w.InFlight = 1_000_000
		w.Producers, w.Workers = 8, 40
		if change != nil {
			change(w)
		}
	}))
	cfg.pause = timerPause{} // virtual time
	return cfg
}

// requireComplete checks that the account and the histograms contain each task of the window once.
func requireComplete(t require.TestingT, o *Outcome) {
	a := o.Open
	require.NotNil(t, a)
	require.Equal(t, a.Scheduled, a.Finished+a.Unfinished+a.Unsent+a.Dropped+a.Refused, "%+v", a)
	require.EqualValues(t, a.Scheduled, o.EnqueueLatency.TotalCount())
	require.EqualValues(t, a.Scheduled, o.CycleLatency.TotalCount())
	require.GreaterOrEqual(t, uint64(a.Slip.TotalCount()), a.Scheduled-a.Unsent-a.Dropped)
	require.LessOrEqual(t, uint64(a.Slip.TotalCount()), a.Scheduled-a.Dropped)
}

func TestOpenLoadKeepsItsSchedule(t *testing.T) {
	for name, change := range map[string]func(*scenario.Workload){
		"one task a call": nil,
		"batches":         func(w *scenario.Workload) { w.Batch = 16 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				cfg := open(b, 1000, change)
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				requireComplete(t, o)
				assert.EqualValues(t, 2000, o.Open.Scheduled, "the window has 2 s")
				assert.Zero(t, o.Open.Unsent+o.Open.Dropped+o.Open.Refused+o.Open.Held)
				assert.LessOrEqual(t, o.Open.Unfinished, uint64(2), "the last call is in flight when the window ends")
				assert.Less(t, time.Duration(o.Open.Slip.Max()), time.Microsecond)
				assert.InEpsilon(t, 1300*time.Microsecond, o.Open.Service.Max(), 0.01)
				assert.InEpsilon(t, 1300*time.Microsecond, o.EnqueueLatency.ValueAtPercentile(50), 0.01)
				assert.InEpsilon(t, 1200*time.Microsecond, o.CycleLatency.ValueAtPercentile(50), 0.01)
				assert.InDelta(t, 2000, float64(o.Cycles), 3)
				assert.EqualValues(t, 3000, cfg.Ledger.Balance().Completed, "the warm-up's too")
				assert.True(t, o.Drained)
			})
		})
	}
}

// stallingBroker stalls for a second in the middle of the window.
func stallingBroker(window time.Duration) *broker {
	b := newBroker()
	b.enqueueDelay, b.ackDelay, b.completeDelay = 200*time.Microsecond, 100*time.Microsecond, 200*time.Microsecond
	start := time.Now().Add(time.Second + window/2)
	stall := func(ctx context.Context) error {
		if into := time.Since(start); into >= 0 && into < time.Second {
			return wait(ctx, time.Second-into)
		}
		return nil
	}
	b.enqueue, b.complete = stall, stall
	b.claim = func(ctx context.Context) (bool, int, error) {
		err := stall(ctx)
		return err != nil, 0, err
	}
	return b
}

// The server stalls for one second of ten. In an open load a tenth of the tasks meet the stall; a
// closed load has hardly any calls in it.
func TestAStallShowsInAnOpenLoad(t *testing.T) {
	const window = 10 * time.Second
	measure := func(t *testing.T, cfg Config) *Outcome {
		cfg.Phases.Window = window
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		require.True(t, o.Drained)
		return o
	}
	t.Run("open", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := measure(t, open(stallingBroker(window), 1000, nil))
			requireComplete(t, o)
			assert.InDelta(t, 0.9, time.Duration(o.CycleLatency.ValueAtPercentile(99)).Seconds(), 0.05)
			assert.InDelta(t, 0.9, time.Duration(o.EnqueueLatency.ValueAtPercentile(99)).Seconds(), 0.05)
			assert.Less(t, time.Duration(o.Open.Service.ValueAtPercentile(99)), time.Millisecond, "only eight calls were slow")
			assert.InDelta(t, 1000, float64(o.Open.Held), 50, "tasks of the stall found no free producer")
			assert.Less(t, time.Duration(o.Open.Slip.Max()), time.Millisecond, "the generator did not cause the wait")
			assert.Zero(t, o.Open.Unsent+o.Open.Dropped)
		})
	})
	t.Run("closed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			cfg := config(stallingBroker(window), workload(func(w *scenario.Workload) { w.Producers, w.Workers = 2, 10 }))
			o := measure(t, cfg)
			assert.Less(t, time.Duration(o.CycleLatency.ValueAtPercentile(99)), 2*time.Millisecond)
			assert.Greater(t, time.Duration(o.CycleLatency.Max()), 900*time.Millisecond, "only the few calls during the stall are slow")
		})
	})
}

func TestBatchesOfWhatIsDueAtOnce(t *testing.T) {
	for _, batch := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			cfg := open(stallingBroker(4*time.Second), 1000, func(w *scenario.Workload) { w.Batch = batch })
			cfg.Phases.Window = 4 * time.Second
			var mu sync.Mutex
			largest := 0
			o, err := Run(t.Context(), withCalls(cfg, func(tasks []driver.Task) {
				mu.Lock()
				defer mu.Unlock()
				largest = max(largest, len(tasks))
			}))
			require.NoError(t, err)
			requireComplete(t, o)
			assert.Equal(t, batch, largest, "the stall ends with a full batch")
		})
	}
}

// withCalls calls look before each enqueue.
func withCalls(cfg Config, look func([]driver.Task)) Config {
	for i, c := range cfg.Conns {
		cfg.Conns[i] = lookingConn{c, look}
	}
	return cfg
}

type lookingConn struct {
	driver.Conn
	look func([]driver.Task)
}

func (c lookingConn) Producer(ctx context.Context, tenant string) (driver.Producer, error) {
	p, err := c.Conn.Producer(ctx, tenant)
	return lookingProducer{p, c.look}, err
}

type lookingProducer struct {
	driver.Producer
	look func([]driver.Task)
}

func (p lookingProducer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	p.look(tasks)
	return p.Producer.Enqueue(ctx, tasks, outcomes)
}

// If the workers are too slow, the in-flight limit holds. Further tasks are dropped, with the rest
// of the window as their latency.
func TestTooManyInFlightAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.completeDelay = 500 * time.Millisecond
		cfg := open(b, 1000, func(w *scenario.Workload) { w.InFlight, w.Workers, w.Producers = 100, 50, 50 })
		cfg.Phases.Window = 4 * time.Second
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		requireComplete(t, o)
		// 50 workers complete 100 tasks a second; each of the other tasks finds 100 in flight.
		assert.InDelta(t, 3600, float64(o.Open.Dropped), 100)
		assert.InDelta(t, 400, float64(o.Cycles), 100)
		assert.Zero(t, o.Open.Unsent)
		assert.Greater(t, time.Duration(o.CycleLatency.ValueAtPercentile(90)), 3*time.Second, "dropped tasks are censored at the window's end")
		assert.Equal(t, 100, b.heldMax)
	})
}

func TestWhatIsNotSentIsCensored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		start := time.Now()
		// Calls block from the window's middle until after its end.
		b.enqueue = func(ctx context.Context) error {
			if time.Since(start) >= 2*time.Second {
				return wait(ctx, 2*time.Second)
			}
			return nil
		}
		o, err := Run(t.Context(), open(b, 1000, func(w *scenario.Workload) { w.Producers = 4 }))
		require.NoError(t, err)
		requireComplete(t, o)
		assert.InDelta(t, 1000-4, float64(o.Open.Unsent), 2, "four calls were in flight")
		assert.Less(t, time.Duration(o.Open.Slip.Max()), time.Microsecond, "the generator did not cause the wait")
		assert.InDelta(t, 4, float64(o.Open.Unfinished), 2)
		assert.InDelta(t, 1, time.Duration(o.CycleLatency.Max()).Seconds(), 0.02)
		assert.InDelta(t, 0.5, time.Duration(o.CycleLatency.ValueAtPercentile(75)).Seconds(), 0.02)
	})
}

func TestRefusedTasksOfAnOpenLoadAreCensored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.refuseEnqueue = func(n int) error {
			if n%4 == 0 {
				return errors.New("queue is full")
			}
			return nil
		}
		cfg := open(b, 1000, func(w *scenario.Workload) { w.InFlight = 10 })
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		requireComplete(t, o)
		assert.InDelta(t, 500, float64(o.Open.Refused), 2)
		assert.Zero(t, o.Open.Dropped, "refused tasks are not in flight")
		assert.InDelta(t, 2, time.Duration(o.CycleLatency.Max()).Seconds(), 0.02, "the first was refused at the window's start")
	})
}

// For every server behaviour, each task of the window counts exactly once.
func TestNothingIsOmitted(t *testing.T) {
	bubble := func(f func()) { synctest.Test(t, func(*testing.T) { f() }) }
	rapid.Check(t, func(t *rapid.T) {
		delay := func(label string) time.Duration {
			return time.Duration(rapid.SampledFrom([]int{0, 1, 50, 1000, 30_000, 400_000}).Draw(t, label)) * time.Microsecond
		}
		enqueue, ack, complete, warmup := delay("enqueue"), delay("acknowledgement"), delay("completion"), delay("warm-up")
		every := rapid.IntRange(2, 9).Draw(t, "refused each")
		rate := rapid.Float64Range(1, 3000).Draw(t, "rate")
		producers, batch := rapid.IntRange(1, 9).Draw(t, "producers"), rapid.IntRange(1, 9).Draw(t, "batch")
		inFlight := rapid.SampledFrom([]int{1, 7, 100, 100_000}).Draw(t, "in flight")

		var b *broker
		var cfg Config
		var o *Outcome
		var err error
		// The bubble needs its own channels; a rapid.T belongs to the goroutine outside.
		bubble(func() {
			b = newBroker()
			b.enqueueDelay, b.ackDelay, b.completeDelay = enqueue, ack, complete
			b.refuseEnqueue = func(n int) error {
				if n%every == 0 {
					return errors.New("no")
				}
				return nil
			}
			cfg = open(b, rate, func(w *scenario.Workload) {
				w.Producers, w.Batch, w.InFlight = producers, batch, inFlight
			})
			cfg.Phases = scenario.Phases{Warmup: warmup, Window: 700 * time.Millisecond, Drain: time.Hour}
			o, err = Run(context.Background(), cfg)
		})
		require.NoError(t, err)
		requireComplete(t, o)
		require.Equal(t, countWithin(b.completed, o.WindowStart, o.WindowEnd), o.Cycles)
		require.True(t, o.Drained)
		balance := cfg.Ledger.Balance()
		require.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted+balance.Unknown)
	})
}

func TestScheduleIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := span{start: rapid.Int64Range(0, 2e9).Draw(t, "start")}
		window.end = window.start + rapid.Int64Range(1, 2e9).Draw(t, "length")
		perSecond := rapid.Float64Range(1, 20_000).Draw(t, "rate")
		s := scheduleOf(window, steady(perSecond))
		require.Equal(t, window.start, s.at(0))
		require.GreaterOrEqual(t, s.at(s.next), int64(0), "the schedule begins at the launch")
		require.Less(t, s.at(s.next), int64(1e9/perSecond)+2)
		n := int64(s.scheduled())
		require.Less(t, s.at(n-1), window.end)
		require.GreaterOrEqual(t, s.at(n), window.end)
		censored, slip := newLatencies(), newLatencies()
		require.EqualValues(t, n, s.unsent(&censored, &slip))
		require.EqualValues(t, n, censored.histogram.TotalCount())
		k := int64(perSecond * rapid.Float64Range(0, 86_400).Draw(t, "seconds"))
		require.InDelta(t, float64(k)/perSecond*1e9, float64(s.at(k)-window.start), 1+float64(k)/perSecond*1e-3, "the schedule does not drift")
	})
}

// latePause wakes up too late, as on a host without a spare CPU.
type latePause struct{ by time.Duration }

func (p latePause) pause(ctx context.Context, ns int64) {
	timerPause{}.pause(ctx, ns+int64(p.by))
}

func TestSlipIsWhatTheGeneratorIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := open(newBroker(), 100, nil)
		cfg.pause = latePause{5 * time.Millisecond}
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		requireComplete(t, o)
		assert.InEpsilon(t, 5*time.Millisecond, o.Open.Slip.ValueAtPercentile(50), 0.01)
		assert.InEpsilon(t, 6200*time.Microsecond, o.CycleLatency.ValueAtPercentile(50), 0.01, "the slip is part of the latency")
		assert.Zero(t, o.Open.Held)
	})
}

// deadPause does not wake up between two times; the second is after the window.
type deadPause struct{ from, until time.Time }

func (p deadPause) pause(ctx context.Context, ns int64) {
	if now := time.Now(); !now.Before(p.from) && now.Before(p.until) {
		ns = max(ns, int64(p.until.Sub(now)))
	}
	timerPause{}.pause(ctx, ns)
}

// If a generator stops before the window's end, all of its unsent tasks have slipped.
func TestWhatTheGeneratorNeverSendsIsSlip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := open(newBroker(), 1000, nil)
		end := time.Now().Add(cfg.Phases.Warmup + cfg.Phases.Window)
		cfg.pause = deadPause{from: end.Add(-500 * time.Millisecond), until: end.Add(time.Second)}
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		requireComplete(t, o)
		assert.InDelta(t, 500, float64(o.Open.Unsent), 2)
		assert.EqualValues(t, o.Open.Scheduled, o.Open.Slip.TotalCount())
		assert.InEpsilon(t, 500*time.Millisecond, o.Open.Slip.Max(), 0.02)
		assert.InEpsilon(t, 250*time.Millisecond, o.Open.Slip.ValueAtPercentile(87.5), 0.03)
	})
}

// The slip of an unsent task begins when a producer is free.
func TestSlipOfUnsentTasksBeginsWhenAProducerIsFree(t *testing.T) {
	s := scheduleOf(span{end: int64(time.Second)}, steady(1000))
	s.idle = int64(900 * time.Millisecond)
	censored, slip := newLatencies(), newLatencies()
	require.EqualValues(t, 1000, s.unsent(&censored, &slip))
	assert.EqualValues(t, 1000, slip.histogram.TotalCount())
	assert.InEpsilon(t, 100*time.Millisecond, slip.histogram.Max(), 0.01)
	assert.InEpsilon(t, 100*time.Millisecond, slip.histogram.ValueAtPercentile(15), 0.01)
	assert.InEpsilon(t, time.Second, censored.histogram.Max(), 0.01)
}

// A generator that wakes up late has several tasks to send at once. It is responsible for the
// lateness of all of them, although a producer takes only one at a time.
func TestSlipOfTasksThatWereDueTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := open(newBroker(), 1000, func(w *scenario.Workload) { w.Producers = 20 })
		cfg.pause = latePause{5 * time.Millisecond}
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		requireComplete(t, o)
		assert.InEpsilon(t, 5*time.Millisecond, o.Open.Slip.Max(), 0.01)
		assert.InEpsilon(t, 3*time.Millisecond, o.Open.Slip.ValueAtPercentile(60), 0.05)
		assert.Zero(t, o.Open.Held, "producers were free all the time")
	})
}

func TestOpenLoadStopsAtOnce(t *testing.T) {
	for name, cut := range map[string]func(*broker, context.CancelFunc){
		"the caller cancels": func(_ *broker, cancel context.CancelFunc) { time.AfterFunc(2*time.Second, cancel) },
		"a call fails":       func(b *broker, _ context.CancelFunc) { b.enqueue = breakAfter(2 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				b := newBroker()
				cut(b, cancel)
				launched := time.Now()
				_, err := Run(ctx, open(b, 2, nil))
				require.Error(t, err)
				assert.InDelta(t, 2*time.Second, time.Since(launched), float64(500*time.Millisecond), "no goroutine sleeps until the next task")
			})
		})
	}
}

// The test uses the kernel timer in real time. It does not check lateness, which depends on the
// host.
func TestOpenLoadInRealTime(t *testing.T) {
	b := newBroker()
	b.enqueueDelay, b.ackDelay, b.completeDelay = 0, 0, 0
	cfg := open(b, 5000, nil)
	cfg.pause = nil
	cfg.Phases = scenario.Phases{Warmup: 10 * time.Millisecond, Window: 50 * time.Millisecond, Drain: time.Minute}
	o, err := Run(context.Background(), cfg)
	require.NoError(t, err)
	requireComplete(t, o)
	assert.EqualValues(t, 250, o.Open.Scheduled)
}

func TestKernelPause(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, err := newKernelPause(ctx)
	require.NoError(t, err)
	for _, d := range []time.Duration{1, 3 * time.Millisecond, 100 * time.Microsecond} {
		started := time.Now()
		p.pause(ctx, int64(d))
		assert.GreaterOrEqual(t, time.Since(started), d)
	}
	paused := make(chan struct{})
	go func() {
		defer close(paused)
		p.pause(ctx, int64(time.Hour))
	}()
	cancel()
	<-paused
	require.NoError(t, p.close())
}

package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

const stopLength = time.Second

// stopping is an open load of 300 tasks a second. Its generator stops for a second in the middle of
// the window.
func stopping(b *broker, change func(*scenario.Workload)) Config {
	cfg := open(b, 300, func(w *scenario.Workload) {
		w.Producers, w.Workers = 2, 4
		if change != nil {
			change(w)
		}
	})
	cfg.Phases.Window = 4 * time.Second
	from := time.Now().Add(cfg.Phases.Warmup + 2*time.Second)
	cfg.pause = deadPause{from: from, until: from.Add(stopLength)}
	return cfg
}

// requireStopIsSlip checks that tasks due in a stop are late from their intended start.
func requireStopIsSlip(t *testing.T, o *Outcome) {
	t.Helper()
	slip := func(percentile float64) float64 {
		return time.Duration(o.Open.Slip.ValueAtPercentile(percentile)).Seconds()
	}
	assert.InDelta(t, 1, slip(99.99), 0.02)
	assert.Greater(t, slip(87.5), 0.4, "the stop covers a quarter of the tasks, half of which are late by more than half its length")
	assert.Less(t, slip(50), 0.001, "before the stop tasks were on time")
}

// After a stop the generator has several tasks to send. Each waits for a producer, although the
// server answers at once.
func TestTasksBehindAStopAreLate(t *testing.T) {
	for name, change := range map[string]func(*scenario.Workload){
		"one producer":  func(w *scenario.Workload) { w.Producers = 1 },
		"two producers": nil,
		"batches":       func(w *scenario.Workload) { w.Batch = 8 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, err := Run(t.Context(), stopping(newBroker(), change))
				require.NoError(t, err)
				requireComplete(t, o)
				requireStopIsSlip(t, o)
			})
		})
	}
}

// Tasks that are dropped because a stop caused a burst are late too.
func TestTasksDroppedAfterAStopAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.completeDelay = 5 * time.Millisecond
		o, err := Run(t.Context(), stopping(b, func(w *scenario.Workload) { w.InFlight = 10 }))
		require.NoError(t, err)
		require.Greater(t, o.Open.Dropped, uint64(50))
		requireStopIsSlip(t, o)
	})
}

// A Meter, which measures the load of a k6 script, keeps the same account.
func TestTasksOfAMeterBehindAStopAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := stopping(newBroker(), func(w *scenario.Workload) { w.Batch = 1 })
		m, err := NewMeter(t.Context(), MeterConfig{
			Workload: cfg.Workload, Phases: cfg.Phases, Ledger: cfg.Ledger, Epoch: time.Now(), pause: cfg.pause,
		})
		require.NoError(t, err)
		sender, to := m.Sender(), ledger.NewAddress("t", "q")
		for {
			due, err := m.Next(t.Context(), 1)
			require.NoError(t, err)
			if len(due) == 0 {
				break
			}
			batch := sender.Seal(to, [][]byte{make([]byte, ledger.HeaderSize)}, true, due)
			time.Sleep(time.Millisecond) // virtual time of the call
			sender.Answered(batch, nil, nil)
		}
		m.Finish()
		requireStopIsSlip(t, m.Outcome())
		require.NoError(t, m.Close())
	})
}

// Tasks of a slice that no producer took, because earlier tasks were late, are late too.
func TestTasksOfASliceBehindAStopAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.ackDelay = 5 * time.Millisecond
		cfg := config(b, workload(func(w *scenario.Workload) { w.Producers = 1 }))
		from := time.Now()
		cfg.pause = deadPause{from: from, until: from.Add(900 * time.Millisecond)}
		s, err := OpenSlices(t.Context(), cfg)
		require.NoError(t, err)
		require.NoError(t, s.OpenSlice(t.Context(), 1, 150, time.Second))
		slip := s.slip.histogram
		require.InDelta(t, 130, float64(slip.TotalCount()), 40, "most were not sent by the slice's end")
		assert.Greater(t, time.Duration(slip.ValueAtPercentile(50)), 300*time.Millisecond)
		_, err = s.End()
		require.NoError(t, err)
	})
}

// A stop while all producers have calls in flight looks as if the server had not answered.
func TestAStopDuringCallsIsLate(t *testing.T) {
	const ms = int64(time.Millisecond)
	s := scheduleOf(span{end: int64(10 * time.Second)}, steady(300))
	s.bound = 1000
	var due [4]int64
	take := func(now, free int64) {
		s.free.start = free
		s.takeDue(now, due[:1])
	}
	take(0, 0)
	s.beat.saw(2 * ms)
	// After a stop from 2 ms to 1002 ms this answer and the following ones are ready.
	for i := range int64(4) {
		take(1003*ms+i*ms, 1003*ms+i*ms)
	}
	assert.InEpsilon(t, 990*time.Millisecond, s.slip.histogram.Max(), 0.02)
	assert.InEpsilon(t, 990*time.Millisecond, s.slip.histogram.ValueAtPercentile(50), 0.02)
	assert.EqualValues(t, 5, s.slip.histogram.TotalCount())
}

// A stop does not make the generator late if tasks wait for the server much longer.
func TestAStopBesideAServerFarBehind(t *testing.T) {
	const second = int64(time.Second)
	s := scheduleOf(span{end: 100 * second}, steady(1000))
	s.bound = 1_000_000
	var due [1]int64
	take := func(now int64) time.Duration {
		s.beat.saw(now - second) // a stop of nearly a second ended just before
		s.free.start = now
		s.takeDue(now, due[:])
		return time.Duration(s.slip.histogram.Max())
	}
	s.beat.start(49 * second)
	s.taken = 49 * second
	assert.Less(t, take(50*second), time.Microsecond, "behind a queue of fifty seconds")
	s.next = 45_000
	s.taken, s.debt = 49*second, 0
	assert.Greater(t, take(51*second), 900*time.Millisecond, "behind a queue of six seconds")
}

// A slow server never makes the generator late.
func TestASlowServerIsNoSlip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		delay := time.Duration(rapid.SampledFrom([]int{1, 20, 300, 5000}).Draw(rt, "delay, ms")) * time.Millisecond
		producers, batch := rapid.IntRange(1, 9).Draw(rt, "producers"), rapid.IntRange(1, 9).Draw(rt, "batch")
		inFlight := rapid.SampledFrom([]int{1, 7, 100_000}).Draw(rt, "in flight")
		var o *Outcome
		var err error
		synctest.Test(t, func(*testing.T) {
			b := newBroker()
			b.ackDelay = delay
			cfg := open(b, 500, func(w *scenario.Workload) { w.Producers, w.Batch, w.InFlight = producers, batch, max(inFlight, batch) })
			cfg.Phases = scenario.Phases{Warmup: 100 * time.Millisecond, Window: time.Second, Drain: time.Hour}
			o, err = Run(context.Background(), cfg)
		})
		require.NoError(rt, err)
		require.Less(rt, time.Duration(o.Open.Slip.Max()), time.Microsecond)
	})
}

func TestHeartbeat(t *testing.T) {
	const ms = int64(time.Millisecond)
	var h heartbeat
	h.start(0)
	h.saw(15 * ms)
	assert.Zero(t, h.stopped(0, 15*ms), "a beat is a little late")
	h.saw(100 * ms)
	h.saw(110 * ms)
	h.saw(200 * ms)
	assert.Equal(t, (75+80)*ms, h.stopped(0, 200*ms))
	assert.Equal(t, (20+30)*ms, h.stopped(80*ms, 150*ms))
	assert.Equal(t, 80*ms, h.stopped(100*ms, 200*ms))
	assert.Len(t, h.stops, 1, "stops that ended before are forgotten")
}

// The heartbeat of a running process finds no stop, and ends with its context.
func TestHeartbeatOfARunningProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := clock{epoch: time.Now()}
		var h heartbeat
		h.start(0)
		go h.run(ctx, c)
		time.Sleep(time.Minute) // virtual time
		cancel()
		synctest.Wait()
		assert.Zero(t, h.stopped(0, c.now()))
		assert.Equal(t, int64(time.Minute), h.last)
	})
}

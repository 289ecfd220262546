package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// meterConfig configures a meter for a closed load with one second of warm-up, a window of two
// seconds and a drain of ten.
func meterConfig(change func(*MeterConfig)) MeterConfig {
	cfg := MeterConfig{
		Workload: scenario.Workload{Batch: 4, Arrivals: scenario.Arrivals{Kind: scenario.Closed}},
		Phases:   scenario.Phases{Warmup: time.Second, Window: 2 * time.Second, Drain: 10 * time.Second},
		Ledger:   ledger.New(42, 4, nil),
		Epoch:    time.Now(), pause: timerPause{},
	}
	if change != nil {
		change(&cfg)
	}
	return cfg
}

func atRate(perSecond float64) func(*MeterConfig) {
	return func(c *MeterConfig) {
		c.Workload.Arrivals = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: perSecond}}
		c.Workload.InFlight = 1000
	}
}

func meterOf(t testing.TB, change func(*MeterConfig)) *Meter {
	m, err := NewMeter(context.Background(), meterConfig(change))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

// send seals n tasks, acknowledges them at once, and returns their payloads.
func send(m *Meter, n int, due []int64) [][]byte {
	payloads := make([][]byte, n)
	for i := range payloads {
		payloads[i] = make([]byte, ledger.HeaderSize)
	}
	s := m.Sender()
	s.Answered(s.Seal(scriptedTo, payloads, true, due), nil, nil)
	return payloads
}

func finishAll(m *Meter, payloads [][]byte) {
	s := m.Settler()
	var claims []Claim
	for _, p := range payloads {
		claims = append(claims, s.Claimed(p, scriptedTo))
	}
	s.Completed(claims, nil, nil)
}

func TestMeterThatCannotBe(t *testing.T) {
	s := golden.Cases(t, "testdata/meters.golden")
	for name, c := range map[string]struct {
		change func(*MeterConfig)
	}{
		"batch":       {func(c *MeterConfig) { c.Workload.Batch = 0 }},
		"arrivals":    {func(c *MeterConfig) { c.Workload.Arrivals.Kind = "wave" }},
		"rate":        {atRate(0)},
		"in flight":   {func(c *MeterConfig) { c.Workload.InFlight = 3 }},
		"window":      {func(c *MeterConfig) { c.Phases.Window = -1 }},
		"endless":     {func(c *MeterConfig) { atRate(5)(c); c.Phases.Window = 0 }},
		"warmup":      {func(c *MeterConfig) { c.Phases.Warmup = -1 }},
		"warmup max":  {func(c *MeterConfig) { c.Phases.WarmupMax = time.Minute }},
		"drain":       {func(c *MeterConfig) { c.Phases.Drain = -1 }},
		"ledger":      {func(c *MeterConfig) { c.Ledger = nil }},
		"used ledger": {func(c *MeterConfig) { c.Ledger.Sent(0, 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewMeter(t.Context(), meterConfig(c.change))
			s.Error(t, name, err)
		})
	}
}

func TestNextWaitsForTheEpoch(t *testing.T) {
	for name, change := range map[string]func(*MeterConfig){"closed": nil, "open": atRate(10)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := meterOf(t, func(c *MeterConfig) {
					if change != nil {
						change(c)
					}
					c.Epoch = time.Now().Add(5 * time.Second)
				})
				assert.Equal(t, -int64(5*time.Second), m.Now())
				assert.Equal(t, "warmup", m.Progress().Phase)
				assert.Zero(t, m.Progress().Elapsed)
				due, err := m.Next(t.Context(), 2)
				require.NoError(t, err)
				require.NotEmpty(t, due)
				assert.Zero(t, due[0])
				assert.Zero(t, m.Now())
			})
		})
	}
}

// Callers that wait for a closed load to begin start one after the other, like the producers of
// Run.
func TestClosedLoadsBeginOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := meterOf(t, func(c *MeterConfig) { c.Workload.Producers, c.Epoch = 4, time.Now().Add(time.Second) })
		var mu sync.Mutex
		began := map[int64]int{}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				due, err := m.Next(t.Context(), 1)
				assert.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				began[due[0]/int64(time.Microsecond)]++
			})
		}
		all.Wait()
		assert.Equal(t, map[int64]int{0: 2, 62_500: 2, 125_000: 2, 187_500: 2}, began, "over 250 ms")
	})
}

func TestNextEndsWithTheWindow(t *testing.T) {
	for name, change := range map[string]func(*MeterConfig){
		"closed": nil, "open": atRate(100),
		"room": func(c *MeterConfig) { c.Workload.InFlight = 4 },
		"none": func(c *MeterConfig) { c.Workload.Arrivals.Kind = scenario.None },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := meterOf(t, change)
				for {
					due, err := m.Next(t.Context(), 4)
					require.NoError(t, err)
					if due == nil {
						break
					}
					if name != "room" { // the next call blocks on the limit until the window's end
						time.Sleep(time.Millisecond)
					}
				}
				if name != "none" {
					assert.GreaterOrEqual(t, m.Now(), int64(2990*time.Millisecond))
				}
				assert.LessOrEqual(t, m.Now(), int64(3*time.Second))
			})
		})
	}
}

func TestNextIsInterrupted(t *testing.T) {
	why := errors.New("the iteration ended")
	for name, change := range map[string]func(*MeterConfig){
		"open, by the kernel's timer": func(c *MeterConfig) {
			atRate(0.001)(c)
			c.pause, c.Phases.Warmup, c.Phases.Window = nil, 0, time.Hour
			c.Epoch = time.Now().Add(time.Hour)
		},
		"closed, before the epoch": func(c *MeterConfig) { c.Epoch = time.Now().Add(time.Hour) },
		"closed, without room": func(c *MeterConfig) {
			c.Workload.InFlight, c.Phases.Window = 4, time.Hour
		},
	} {
		for _, closed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, closed: %t", name, closed), func(t *testing.T) {
				m := meterOf(t, change)
				if m.limit != nil {
					_, err := m.Next(t.Context(), 4)
					require.NoError(t, err)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				var waiting sync.WaitGroup
				failed := make(chan error, 3)
				for range cap(failed) {
					waiting.Go(func() {
						_, err := m.Next(ctx, 4)
						failed <- err
					})
				}
				if m.schedule != nil {
					require.Eventually(t, func() bool { return len(m.schedule.turn) == 0 }, time.Minute, time.Millisecond, "a caller waits for the timer")
				}
				want := why
				if closed {
					want = errMeterClosed
					assert.NoError(t, m.Close())
				} else {
					cancel(why)
				}
				waiting.Wait()
				for range cap(failed) {
					assert.ErrorIs(t, <-failed, want)
				}
			})
		}
	}
}

// The interruption of one caller does not keep the others from their tasks.
func TestOthersWaitOnWhenOneIsInterrupted(t *testing.T) {
	m := meterOf(t, func(c *MeterConfig) { atRate(20)(c); c.pause = nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		_, err := m.Next(ctx, 1)
		require.ErrorIs(t, err, context.Canceled)
	}
	due, err := m.Next(t.Context(), 1)
	require.NoError(t, err)
	require.NotEmpty(t, due)
	assert.GreaterOrEqual(t, m.Now(), due[0])
}

func TestNextForTooManyOrNone(t *testing.T) {
	s := golden.Cases(t, "testdata/next.golden")
	m := meterOf(t, nil)
	for _, n := range []int{-1, 0, NextMax + 1} {
		_, err := m.Next(t.Context(), n)
		s.Error(t, strconv.Itoa(n), err)
	}
}

func TestDone(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*MeterConfig)
		do     func(*testing.T, *Meter) // lasts at most until the window's end
		after  time.Duration            // after the window's end
		drain  bool
	}{
		"nothing sent": {nil, nil, 0, true},
		"completed":    {nil, func(_ *testing.T, m *Meter) { finishAll(m, send(m, 3, nil)) }, 0, true},
		"not completed": {nil, func(_ *testing.T, m *Meter) {
			send(m, 3, nil)
		}, 10 * time.Second, false},
		"of unknown outcome": {nil, func(_ *testing.T, m *Meter) {
			s := m.Sender()
			s.Answered(s.Seal(scriptedTo, [][]byte{make([]byte, 32)}, true, nil), nil, errors.New("broken"))
		}, drainQuiet, true},
		"in doubt": {nil, func(_ *testing.T, m *Meter) {
			payloads, s := send(m, 1, nil), m.Settler()
			s.Completed([]Claim{s.Claimed(payloads[0], scriptedTo)}, []error{driver.ErrUnknown}, nil)
		}, drainQuiet, true},
		"withdrawn": {nil, func(_ *testing.T, m *Meter) {
			s := m.Sender()
			s.Withdraw(s.Seal(scriptedTo, [][]byte{make([]byte, 32)}, true, nil))
		}, 0, true},
		// A due task may still be sent until the script has dropped it.
		"dropped": {atRate(100), func(t *testing.T, m *Meter) {
			due, err := m.Next(t.Context(), 1)
			require.NoError(t, err)
			require.Len(t, due, 1)
		}, drainQuiet, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := meterOf(t, c.change)
				if c.do != nil {
					c.do(t, m)
				}
				time.Sleep(time.Until(m.clock.at(m.window.end() - 1)))
				assert.False(t, m.Done(), "the window has not ended")
				time.Sleep(time.Nanosecond)
				for !m.Done() {
					time.Sleep(drainPoll)
				}
				after := time.Duration(m.Now() - m.window.end())
				assert.InDelta(t, c.after, after, float64(drainPoll))
				o := m.Outcome()
				assert.Equal(t, c.drain, o.Drained)
				assert.Equal(t, after, o.Finished.Sub(o.WindowEnd))
				assert.Equal(t, "drain", m.Progress().Phase)

				time.Sleep(time.Hour)
				m.Finish()
				assert.True(t, m.Done())
				assert.Equal(t, o.Finished, m.Outcome().Finished, "the load ends once")
				assert.Equal(t, c.drain, m.Outcome().Drained)
			})
		})
	}
}

// A load whose drain was too short reports whether tasks were still being completed.
func TestDoneSaysWhetherTheLoadWasStillDraining(t *testing.T) {
	for before, want := range map[time.Duration]bool{drainQuiet / 2: true, 2 * drainQuiet: false} {
		synctest.Test(t, func(t *testing.T) {
			m := meterOf(t, nil)
			payloads, s := send(m, 3, nil), m.Settler()
			time.Sleep(time.Until(m.clock.at(m.window.end()))) // virtual time, as below
			assert.False(t, m.Done())
			time.Sleep(time.Until(m.clock.at(m.window.deadline()).Add(-before)))
			s.Completed([]Claim{s.Claimed(payloads[0], scriptedTo)}, []error{nil}, nil)
			for !m.Done() {
				time.Sleep(drainPoll)
			}
			o := m.Outcome()
			assert.False(t, o.Drained)
			assert.Equal(t, want, o.Draining, "a completion %v before the end", before)
		})
	}
}

// Done waits for a batch that became due before the window's end and is sent after it.
func TestDoneWaitsForWhatIsStillSent(t *testing.T) {
	for name, change := range map[string]func(*MeterConfig){"closed": nil, "open": atRate(1000)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := meterOf(t, change)
				time.Sleep(2999 * time.Millisecond)
				due, err := m.Next(t.Context(), 4)
				require.NoError(t, err)
				time.Sleep(100 * time.Millisecond)
				require.False(t, m.Done())
				payloads := send(m, len(due), due)
				time.Sleep(drainPoll)
				require.False(t, m.Done())
				finishAll(m, payloads)
				time.Sleep(drainPoll)
				require.True(t, m.Done())
				assert.True(t, m.Outcome().Drained)
			})
		})
	}
}

func TestFinishBeforeTheWindowIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := meterOf(t, atRate(100))
		time.Sleep(2 * time.Second)
		m.Finish()
		o := m.Outcome()
		assert.Equal(t, m.clock.at(int64(2*time.Second)), o.Finished)
		assert.False(t, o.Drained)
		assert.EqualValues(t, 200, o.Open.Unsent)
		assert.True(t, m.Done())
	})
}

func TestWindowWithoutAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := meterOf(t, func(c *MeterConfig) { c.Phases.Window, c.Phases.Drain = 0, 0 })
		time.Sleep(30 * 24 * time.Hour)
		due, err := m.Next(t.Context(), 100)
		require.NoError(t, err)
		require.Len(t, due, 100)
		payloads := send(m, 100, due)
		time.Sleep(time.Second)
		finishAll(m, payloads)
		assert.False(t, m.Done())
		progress := m.Progress()
		assert.InEpsilon(t, time.Second, progress.CycleP99, 0.125)
		progress.CycleP99 = 0
		assert.Equal(t, Progress{Phase: "window", Elapsed: 30*24*time.Hour + time.Second, Warmup: time.Second, Sent: 100, Completed: 100}, progress)
		assert.EqualValues(t, 100, m.Outcome().Cycles)

		time.Sleep(time.Second)
		m.Finish()
		time.Sleep(time.Hour)
		o := m.Outcome()
		assert.Equal(t, 30*24*time.Hour+time.Second, o.Window)
		assert.Equal(t, o.Finished, o.WindowEnd)
		assert.Equal(t, o.WindowStart.Add(o.Window), o.WindowEnd)
		assert.True(t, o.Drained)
		assert.EqualValues(t, 100, o.Enqueued)
		assert.InEpsilon(t, time.Second, o.CycleLatency.Max(), 0.01)
		assert.True(t, m.Done())
	})
}

// If the load ends during the warm-up, the window is empty.
func TestWindowThatNeverBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := meterOf(t, func(c *MeterConfig) { c.Phases.Window = 0 })
		m.Finish()
		assert.Zero(t, m.Outcome().Window)
	})
}

func TestCallsThatFailAreCounted(t *testing.T) {
	m := meterOf(t, nil)
	s, w := m.Sender(), m.Settler()
	broken, stopped := errors.New("broken"), fmt.Errorf("call: %w", context.Canceled)
	for _, err := range []error{broken, stopped, nil} {
		m.Failed(err)
		s.Failed(err)
		w.Failed(err)
		w.Completed([]Claim{w.Claimed(send(m, 1, nil)[0], scriptedTo)}, nil, err)
		s.Answered(s.Seal(scriptedTo, [][]byte{make([]byte, 32)}, true, nil), nil, err)
	}
	s.Answered(s.Seal(scriptedTo, [][]byte{make([]byte, 32)}, true, nil), []error{fmt.Errorf("%w: reset", driver.ErrUnknown)}, nil)
	m.Finish()
	o := m.Outcome()
	assert.EqualValues(t, 6, o.FailedCalls.Count)
	assert.Equal(t, "broken", o.FailedCalls.First)
	assert.False(t, m.Outcome().Drained, "cancelled tasks have an unknown outcome, others are outstanding")
	assert.EqualValues(t, 3, m.ledger.Balance().Unknown)
	assert.EqualValues(t, 2, m.ledger.Balance().InDoubt)
}

// A process may open any number of sessions.
func TestSendersAndSettlersAreBounded(t *testing.T) {
	m := meterOf(t, func(c *MeterConfig) { c.Phases = scenario.Phases{} })
	seen := map[int]bool{}
	for range 1000 {
		finishAll(m, send(m, 1, nil))
	}
	for range 4 {
		seen[m.Sender().number] = true
	}
	assert.Len(t, seen, 4, "the ledger's accounts are shared")
	assert.Len(t, m.sending, meterRecorders)
	assert.Len(t, m.settling, meterRecorders)
	assert.EqualValues(t, 1000, m.Outcome().Cycles)
	assert.EqualValues(t, 1000, m.Outcome().Enqueued)
}

// Many goroutines use sessions concurrently; some share one.
func TestMeterIsSafeForConcurrentUse(t *testing.T) {
	const users, each = 16, 300
	for name, change := range map[string]func(*MeterConfig){
		"endless": func(c *MeterConfig) { c.Phases = scenario.Phases{} },
		"room":    func(c *MeterConfig) { c.Workload.InFlight, c.Phases.Warmup = 8, 0 },
		"open":    func(c *MeterConfig) { atRate(20_000)(c); c.Phases.Warmup, c.pause = 0, nil },
	} {
		t.Run(name, func(t *testing.T) {
			m := meterOf(t, change)
			var all sync.WaitGroup
			shared, worker := m.Sender(), m.Settler()
			for i := range users {
				all.Go(func() {
					s, w := shared, worker
					if i%2 == 0 {
						s, w = m.Sender(), m.Settler()
					}
					for n := range each {
						due, err := m.Next(t.Context(), 2)
						if !assert.NoError(t, err) || len(due) == 0 {
							return
						}
						payloads := [][]byte{make([]byte, 32), make([]byte, 40)}[:len(due)]
						s.Answered(s.Seal(scriptedTo, payloads, n%2 == 0, due), nil, nil)
						claims := make([]Claim, len(due))
						for i, p := range payloads {
							claims[i] = w.Claimed(p, scriptedTo)
						}
						w.Completed(claims, nil, nil)
						m.Progress()
						m.Done()
					}
				})
			}
			all.Wait()
			m.Finish()
			o, balance := m.Outcome(), m.ledger.Balance()
			assert.Equal(t, balance.Enqueued, balance.Completed)
			assert.NotZero(t, o.Cycles)
			assert.Equal(t, result.Ledger{Enqueued: balance.Enqueued, Completed: balance.Enqueued}, balance)
			if o.Open != nil {
				requireComplete(t, o)
			}
		})
	}
}

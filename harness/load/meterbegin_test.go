package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/scenario"
)

// A load whose begin is set later counts all times from the begin, and has its share of the rate.
func TestALoadBeginsWhenItIsTold(t *testing.T) {
	for share, scheduled := range map[float64]uint64{1: 100, 0.25: 25} {
		synctest.Test(t, func(t *testing.T) {
			m := meterOf(t, func(c *MeterConfig) {
				c.Epoch = time.Time{}
				atRate(50)(c)
				c.Phases = scenario.Phases{Warmup: time.Second, Window: 2 * time.Second, Drain: time.Second}
			})
			cycle := func(due []int64) { finishAll(m, send(m, max(1, len(due)), due)) }
			cycle(nil)
			time.Sleep(10 * time.Second)
			assert.Equal(t, Progress{Phase: "warmup", Sent: 1, Completed: 1}, m.Progress())
			assert.False(t, m.Done())

			began := time.Now().Add(time.Second)
			first := make(chan []int64)
			go func() {
				due, err := m.Next(t.Context(), 1)
				assert.NoError(t, err)
				first <- due
			}()
			synctest.Wait()
			m.Begin(began, share)
			m.Begin(began.Add(time.Hour), 1) // too late: has no effect
			due := <-first
			assert.False(t, time.Now().Before(began))
			assert.Less(t, time.Since(began).Seconds(), 1/(50*share), "the first task comes at most one interval after the warm-up's begin")
			for len(due) > 0 {
				cycle(due)
				var err error
				due, err = m.Next(t.Context(), 1)
				require.NoError(t, err)
			}
			time.Sleep(time.Until(began.Add(3 * time.Second)))
			assert.Equal(t, "drain", m.Progress().Phase)
			assert.Equal(t, time.Second, m.Progress().Warmup)
			assert.Equal(t, 3*time.Second, m.Progress().Elapsed)
			assert.True(t, m.Done())
			o := m.Outcome()
			assert.Equal(t, scheduled, o.Open.Scheduled)
			assert.Equal(t, scheduled, o.Open.Finished)
			assert.Equal(t, scheduled, o.Cycles, "earlier completions are in no window")
			assert.Equal(t, began, o.Launched)
			assert.Equal(t, began.Add(time.Second), o.WindowStart)
			assert.InDelta(t, 50*share, o.Open.PerSecond, 1e-9)
		})
	}
}

// The account of a load that never begins reports all tasks as unsent.
func TestALoadThatNeverBeginsIsUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := meterOf(t, func(c *MeterConfig) {
			c.Epoch = time.Time{}
			atRate(50)(c)
			c.Phases = scenario.Phases{Window: 2 * time.Second}
		})
		m.Finish()
		o := m.Outcome()
		assert.EqualValues(t, 100, o.Open.Scheduled)
		assert.EqualValues(t, 100, o.Open.Unsent)
		assert.False(t, o.Drained)
	})
}

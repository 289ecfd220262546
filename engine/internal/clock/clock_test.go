package clock

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// host has clocks that a test controls.
type host struct {
	mu sync.Mutex
	Reading
}

func (h *host) read() Reading {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Reading
}

// pass lets time pass. The wall clock drifts in this time.
func (h *host) pass(d time.Duration, driftPPM int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Mono += int64(d)
	h.Wall += int64(d) + int64(d)/1_000_000*driftPPM
}

func (h *host) step(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Wall += int64(d)
}

var (
	steps  = rapid.Int64Range(int64(-24*time.Hour), int64(24*time.Hour))
	passes = rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, int64(time.Second)), rapid.Int64Range(0, int64(time.Hour)))
)

// For any steps of the wall clock, the clock advances like the monotonic one to within 2 %.
func TestClockGoesOnWithTheMonotonicOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &host{Reading: Reading{Mono: rapid.Int64Range(0, 1<<50).Draw(t, "origin"), Wall: 1_700_000_000e9}}
		c := From(h.read)
		_, was := c.Now()
		require.Equal(t, h.Wall, was, "the clock begins at the wall clock's reading")
		for range rapid.IntRange(1, 50).Draw(t, "readings") {
			if rapid.Bool().Draw(t, "steps") {
				h.step(time.Duration(steps.Draw(t, "step")))
			}
			d := passes.Draw(t, "pass")
			h.pass(time.Duration(d), rapid.Int64Range(-500_000, 500_000).Draw(t, "drift"))
			mono, now := c.Now()
			require.Equal(t, h.Mono, mono)
			// The rounding errors of two readings may add up.
			require.LessOrEqual(t, now-was, d+d/50+1)
			require.GreaterOrEqual(t, now-was, max(0, d-d/50-1))
			was = now
		}
	})
}

// After the last step, the clock agrees with the wall clock within 50 times their difference, and
// continues to agree.
func TestClockConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &host{Reading: Reading{Wall: 1_700_000_000e9}}
		c := From(h.read)
		for range rapid.IntRange(1, 5).Draw(t, "steps") {
			h.step(time.Duration(rapid.Int64Range(int64(-time.Minute), int64(time.Minute)).Draw(t, "step")))
			h.pass(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "pass")), 0)
			c.Now()
		}
		h.pass(observeEvery, 0)
		c.Now()
		left := ConvergesIn(c.Offset())
		every := time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(time.Minute)).Draw(t, "every"))
		readings := int64(0)
		for began := h.Mono; h.Mono-began < int64(left); readings++ {
			before := c.Offset()
			h.pass(max(every, left/100), 0)
			c.Now()
			require.LessOrEqual(t, c.Offset().Abs(), before.Abs(), "the difference never grows")
		}
		require.LessOrEqual(t, c.Offset().Abs(), time.Duration(readings+1), "the rounding error of a reading is below a nanosecond")
		h.pass(time.Hour, 0)
		c.Now()
		require.Zero(t, c.Offset())
	})
	assert.Equal(t, 500*time.Second, ConvergesIn(-10*time.Second))
	assert.Equal(t, time.Duration(math.MaxInt64), ConvergesIn(math.MinInt64))
}

// The clock follows a wall clock that drifts, for example because it is slewed.
func TestClockFollowsAWallClockThatDrifts(t *testing.T) {
	for _, driftPPM := range []int64{500, -500, 15_000, -15_000} {
		h := &host{Reading: Reading{Wall: 1_700_000_000e9}}
		c := From(h.read)
		for range 10_000 {
			h.pass(30*time.Millisecond, driftPPM)
			c.Now()
			apart := time.Duration(max(driftPPM, -driftPPM)) * 200 * time.Millisecond / 1_000_000
			require.LessOrEqual(t, c.Offset().Abs(), apart)
		}
	}
}

// A step of the wall clock shifts the end of a lease of 30 s by at most 2 %.
func TestStepsOfTheWallClockExpireNothing(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour, 10 * time.Second} {
		h := &host{Reading: Reading{Wall: 1_700_000_000e9}}
		c := From(h.read)
		ends := c.NowMs() + 30_000
		h.step(step)
		for range 29_400 / 10 {
			require.Less(t, c.NowMs(), ends, "%v", step)
			h.pass(10*time.Millisecond, 0)
		}
		h.pass(1_300*time.Millisecond, 0)
		require.GreaterOrEqual(t, c.NowMs(), ends, "%v", step)
	}
}

// A reading is never below one that completed before it began, even while the wall clock is
// stepped.
func TestReadersAtOnceNeverSeeTimeGoBack(t *testing.T) {
	var wall atomic.Int64
	began := time.Now()
	c := From(func() Reading {
		d := int64(time.Since(began)) * 2_000 // so that segments are replaced continually
		return Reading{Mono: d, Wall: 1_700_000_000e9 + d + wall.Load()}
	})
	var latest atomic.Int64
	var readers sync.WaitGroup
	for i := range 8 {
		readers.Go(func() {
			for n := range 20_000 {
				if i == 0 {
					wall.Store(int64(n%2*2-1) * int64(time.Hour))
				}
				before := latest.Load()
				_, now := c.Now()
				if now < before {
					t.Errorf("%d ns back", before-now)
					return
				}
				for was := latest.Load(); now > was && !latest.CompareAndSwap(was, now); was = latest.Load() {
				}
			}
		})
	}
	readers.Wait()
}

func TestNewIsTheHostsWallClock(t *testing.T) {
	c := New()
	before := time.Now().UnixNano()
	_, now := c.Now()
	assert.InDelta(t, before, now, float64(time.Minute))
	assert.InDelta(t, 0, c.Offset(), float64(time.Second))
	assert.InDelta(t, now/1e6, c.NowMs(), 60_000)
	assert.Zero(t, testing.AllocsPerRun(10, func() { c.NowMs() }))
}

func BenchmarkNowMs(b *testing.B) {
	c := New()
	for b.Loop() {
		c.NowMs()
	}
}

// BenchmarkMonotonic measures the lower bound for clocks that read the monotonic clock.
func BenchmarkMonotonic(b *testing.B) {
	start := time.Now()
	for b.Loop() {
		_ = start.UnixMilli() + time.Since(start).Milliseconds()
	}
}

// A reader that is overtaken between its reading of the clocks and its replacement of the segment
// does not replace a later segment.
func TestAnOvertakenReaderDoesNotTurnTimeBack(t *testing.T) {
	h := &host{Reading: Reading{Mono: int64(time.Hour), Wall: 1_700_000_000e9}}
	var c *Clock
	var overtake func()
	c = From(func() Reading {
		r := h.read()
		if f := overtake; f != nil {
			overtake = nil
			f()
		}
		return r
	})
	h.pass(observeEvery, 0)
	h.step(-time.Hour)
	var later int64
	overtake = func() { // at the first reading, which finds an old segment
		overtake = func() { // at the second reading, which would begin the next segment
			h.pass(observeEvery/2, 0)
			_, later = c.Now()
		}
	}
	c.Now()
	require.NotZero(t, later)
	_, now := c.Now()
	require.GreaterOrEqual(t, now, later)
}

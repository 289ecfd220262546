package run

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/validity"
)

// judged samples a load that has completed the given numbers of tasks at times after its launch.
// There is no load in the first half second.
func judged(t *testing.T, phases scenario.Phases, completed func(since time.Duration) uint64) (w *result.Warmup, s *steadiness) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		const opening = 500 * time.Millisecond
		began := time.Now()
		s = watchRates(phases, func() count {
			now := time.Now()
			return count{completed: completed(max(0, now.Sub(began)-opening)), at: now}
		})
		<-time.After(opening + phases.Warmup)
		require.NoError(t, s.start(t.Context(), time.Now()))
		<-time.After(phases.Window)
		require.NoError(t, s.stop(t.Context()))
		s.took = phases.Warmup
		w = s.judge()
	})
	return w, s
}

func at(perSecond float64) func(time.Duration) uint64 {
	return func(d time.Duration) uint64 { return uint64(perSecond * d.Seconds()) }
}

var tenSeconds = scenario.Phases{Warmup: 2 * time.Second, Window: 10 * time.Second}

func TestSteadyRate(t *testing.T) {
	t.Parallel()
	w, s := judged(t, tenSeconds, at(1000))
	require.NotNil(t, w)
	assert.True(t, w.Stationary)
	assert.InDelta(t, 0, w.TrendPercent, 0.5)
	assert.Empty(t, w.Reason)
	assert.InDelta(t, 2, w.WarmupS, 1e-9)
	require.NotNil(t, w.WarmupTrendPercent)
	assert.InDelta(t, 0, *w.WarmupTrendPercent, 3)
	assert.Len(t, s.window.rates(), rateParts)
	assert.Len(t, s.warmup.rates(), rateParts, "the last parts of the warm-up")
	assert.EqualValues(t, 10_000, s.window.total())
}

// A window that ends after a number of tasks is judged over its whole duration, in 20 to 40 equal
// parts.
func TestTrendOfAWindowThatEndsEarly(t *testing.T) {
	t.Parallel()
	for _, lasts := range []time.Duration{205 * time.Millisecond, 1234 * time.Millisecond, 7 * time.Second, 10 * time.Minute} {
		phases := scenario.Phases{Warmup: 2 * time.Second, Window: lasts, Tasks: 1_000_000}
		_, s := judged(t, phases, at(1000))
		rates := s.window.rates()
		assert.GreaterOrEqual(t, len(rates), rateParts, lasts)
		assert.Less(t, len(rates), 2*rateParts, lasts)
		parts := s.window.counts
		length := parts[1].at.Sub(parts[0].at)
		for i := range parts[1:] {
			assert.Equal(t, length, parts[i+1].at.Sub(parts[i].at), lasts)
		}
		assert.InDelta(t, float64(lasts), float64(parts[len(parts)-1].at.Sub(parts[0].at)), float64(length), "%v: at most one part is left out", lasts)

		w, _ := judged(t, phases, func(d time.Duration) uint64 {
			s := d.Seconds()
			return uint64(100_000*s + 50_000*max(0, s-2)*max(0, s-2)/lasts.Seconds())
		})
		require.NotNil(t, w, lasts)
		assert.False(t, w.Stationary, lasts)
		assert.InDelta(t, 100, w.TrendPercent, 19, lasts)
	}
	w, _ := judged(t, scenario.Phases{Window: 95 * time.Millisecond, Tasks: 1_000_000}, at(1_000_000))
	assert.Nil(t, w, "nine parts are too few")
}

// The warm-up continues in the window: the rate rises from 1,000 to 2,000 per second.
func TestRateThatRises(t *testing.T) {
	t.Parallel()
	w, _ := judged(t, tenSeconds, func(d time.Duration) uint64 {
		s := d.Seconds()
		return uint64(1000*s + 50*max(0, s-2)*max(0, s-2))
	})
	require.NotNil(t, w)
	assert.False(t, w.Stationary)
	assert.InDelta(t, 100*(1975.0/1025-1), w.TrendPercent, 4)
	assert.Contains(t, w.Reason, "the rate rose by 9")
	assert.Contains(t, w.Reason, "raise phases.warmup")

	var j validity.Judgement
	judgeTrend(&j, w, scenario.Validity{TrendPercentMax: new(50.0)})
	require.Len(t, j.Reasons, 1)
	assert.Contains(t, w.Reason, "raise phases.warmup")
	j = validity.Judgement{}
	judgeTrend(&j, w, scenario.Validity{TrendPercentMax: new(110.0)})
	judgeTrend(&j, w, scenario.Validity{})
	judgeTrend(&j, nil, scenario.Validity{TrendPercentMax: new(0.0)})
	judgeTrend(&j, &result.Warmup{TrendPercent: 90, PValue: 0.2}, scenario.Validity{TrendPercentMax: new(0.0)})
	assert.Empty(t, j.Reasons, "within the limit, or explained by chance")
}

// A rate that rises in the warm-up but not in the window is valid.
func TestWarmupThatDidItsWork(t *testing.T) {
	t.Parallel()
	w, _ := judged(t, tenSeconds, func(d time.Duration) uint64 {
		s := d.Seconds()
		return uint64(1000*max(0, s-2) + 250*min(2, s)*min(2, s))
	})
	require.NotNil(t, w)
	assert.True(t, w.Stationary)
	require.NotNil(t, w.WarmupTrendPercent)
	assert.Greater(t, *w.WarmupTrendPercent, 50.0)
}

func TestTooFewCyclesTellNothing(t *testing.T) {
	t.Parallel()
	w, _ := judged(t, tenSeconds, at(19))
	assert.Nil(t, w)
	w, _ = judged(t, scenario.Phases{Window: 10 * time.Second}, at(1000))
	require.NotNil(t, w)
	assert.Nil(t, w.WarmupTrendPercent, "there was no warm-up")
	assert.Nil(t, (*steadiness)(nil).judge())
}

// A round that breaks off in its warm-up or its window leaves no goroutine behind.
func TestSteadinessThatIsGivenUp(t *testing.T) {
	t.Parallel()
	aborted, cancel := context.WithCancel(t.Context())
	cancel()
	synctest.Test(t, func(t *testing.T) {
		s := watchRates(tenSeconds, func() count { return count{completed: 0, at: time.Now()} })
		require.NoError(t, s.stop(aborted))
		require.NoError(t, s.stop(aborted))
		s = watchRates(tenSeconds, func() count { return count{completed: 0, at: time.Now()} })
		require.NoError(t, s.start(t.Context(), time.Now()))
		require.NoError(t, s.stop(aborted))
	})
}

func TestSteadyLoad(t *testing.T) {
	t.Parallel()
	of := func(kinds ...string) (all []scenario.Workload) {
		for _, kind := range kinds {
			all = append(all, scenario.Workload{Arrivals: scenario.Arrivals{Kind: kind}})
		}
		return all
	}
	assert.True(t, steadyLoad(of(scenario.Closed)))
	assert.True(t, steadyLoad(of(scenario.None, scenario.Open)))
	assert.False(t, steadyLoad(of(scenario.Open, scenario.Burst)))
	assert.False(t, steadyLoad(of(scenario.Ramp)))
	assert.False(t, steadyLoad(of(scenario.None)))
}

// The window begins only after the rate of the warm-up has settled.
func TestWarmupIsWaitedFor(t *testing.T) {
	t.Parallel()
	const warmsFor = 3 * time.Second
	phases := scenario.Phases{Warmup: time.Second, WarmupMax: patience, Window: 2 * time.Second, Drain: patience}
	m := measuredInVirtualTime(t, phases, scenario.Validity{}, func(since time.Duration) count {
		warm, s := min(since, warmsFor).Seconds(), since.Seconds()
		return count{completed: uint64(1000*warm*warm/2 + 1000*warmsFor.Seconds()*max(0, s-warmsFor.Seconds()))}
	})
	require.Equal(t, result.Pass, m.round.Verdict, "%v", m.round.Reasons)
	w := m.round.Warmup
	require.NotNil(t, w)
	assert.True(t, w.Stationary)
	assert.Greater(t, w.WarmupS, warmsFor.Seconds())
	assert.Less(t, w.WarmupS, warmsFor.Seconds()+phases.Warmup.Seconds(), "the warm-up ends soon after the rate has settled")
}

func TestSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		rising := func(d time.Duration) uint64 { return uint64(1000 * d.Seconds() * d.Seconds()) }
		for name, c := range map[string]struct {
			completed func(time.Duration) uint64
			want      bool
		}{
			"steady":   {at(1000), true},
			"rising":   {rising, false},
			"idle":     {at(0), true},
			"very few": {func(d time.Duration) uint64 { return rising(d) / 100 }, true},
			"launch":   {func(d time.Duration) uint64 { return uint64(1000 * max(0, d.Seconds()-0.5)) }, true},
		} {
			began := time.Now()
			s := watchRates(scenario.Phases{Warmup: 2 * time.Second}, func() count {
				now := time.Now()
				return count{completed: c.completed(now.Sub(began)), at: now}
			})
			<-time.After(2*time.Second + time.Millisecond)
			assert.Equal(t, c.want, s.settled(), name)
			require.NoError(t, s.stop(t.Context()))
		}
	})
}

// For a load that reports its progress periodically, the rate is computed between two reports, so
// that a part without a report is not empty.
func TestRatesOfReports(t *testing.T) {
	began := time.Now()
	s := startSeriesAt(count{completed: 100, at: began})
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	s.add(count{completed: 100, at: began})
	s.add(count{completed: 150, at: at(250)})
	s.add(count{completed: 150, at: at(250)})
	s.add(count{completed: 250, at: at(500)})
	assert.Equal(t, []float64{200, 400}, s.tail(rateParts))
	assert.EqualValues(t, 150, s.total())
	assert.Zero(t, count{completed: 250, at: at(500)}.perSecondSince(count{completed: 250, at: at(500)}))
}

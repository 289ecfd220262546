package scenario

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestExpected(t *testing.T) {
	all, err := Load("testdata/points.hcl")
	require.NoError(t, err)
	s := all[0]
	assert.Equal(t, Rounds{Timed: 8, Profiled: 4, Calibrating: 4}, s.PlannedRounds())
	backlog := 2 * (1000 + 100) * time.Second / backlogPerSExpected
	assert.Equal(t, 16*(s.Phases.Warmup+s.Phases.Window+startExpected+DrainExpected)+8*backlog, s.Expected())

	all, err = Load("../../scenarios/raft-shards.hcl")
	require.NoError(t, err)
	assert.Equal(t, clusterStartExpected, all[0].StartExpected())
	for _, s := range all {
		assert.Less(t, s.Expected(), s.Duration()+time.Duration(s.PlannedRounds().Total())*s.StartExpected())
	}
}

// The tasks that are due in a window are the integral of the rate that scenario.Arrivals describes.
func TestOffered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(1, 1e6)
		ms := func(low, high int, name string) time.Duration {
			return time.Duration(rapid.IntRange(low, high).Draw(t, name)) * time.Millisecond
		}
		a := Arrivals{
			Kind: rapid.SampledFrom([]string{Open, Ramp, Burst}).Draw(t, "kind"),
			Rate: Rate{PerSecond: rate.Draw(t, "rate")}, To: Rate{PerSecond: rate.Draw(t, "to")},
		}
		window := ms(100, 5000, "window")
		a.Every = ms(2, 5000, "every")
		a.Over = ms(1, int(a.Every.Milliseconds())-1, "over")
		at := func(after time.Duration) float64 {
			switch {
			case a.Kind == Ramp:
				return a.Rate.PerSecond + (a.To.PerSecond-a.Rate.PerSecond)*min(1, after.Seconds()/a.Over.Seconds())
			case a.Kind == Burst && after%a.Every >= a.Every-a.Over:
				return a.To.PerSecond
			}
			return a.Rate.PerSecond
		}
		sum := 0.0
		for after := time.Millisecond / 2; after < window; after += time.Millisecond {
			sum += at(after) / 1000
		}
		got, known := Point{Workloads: []Workload{{Arrivals: a}, {Arrivals: a}}}.Offered(window)
		require.True(t, known)
		require.InEpsilon(t, 2*sum, got, 1e-9)
	})
	for _, w := range []Workload{
		{Arrivals: Arrivals{Kind: Closed}},
		{Arrivals: Arrivals{Kind: None}},
		{Arrivals: Arrivals{Kind: Open, Rate: Rate{OfPeak: 0.5}}},
	} {
		_, known := Point{Workloads: []Workload{{Arrivals: Arrivals{Kind: Open, Rate: Rate{PerSecond: 1}}}, w}}.Offered(time.Second)
		assert.False(t, known)
	}
}

// With IntervalCycles cycles, all of them lie below the percentile with a probability of at most
// 2.5 %. With one cycle fewer the probability is higher.
func TestIntervalCycles(t *testing.T) {
	for percentile, want := range map[float64]int{50: 6, 90: 36, 99: 368, 99.9: 3688, 99.99: 36888} {
		n := IntervalCycles(percentile)
		assert.InDelta(t, want, n, 1, percentile)
		assert.LessOrEqual(t, math.Pow(percentile/100, float64(n)), 0.025)
		assert.Greater(t, math.Pow(percentile/100, float64(n-1)), 0.025)
	}
	for _, percentile := range []float64{0, 100, -1, 101, math.NaN()} {
		assert.Zero(t, IntervalCycles(percentile))
	}
}

// The cut of the lognormal distribution excludes about one in 600,000 sizes.
func TestLognormalEnds(t *testing.T) {
	p := lognormal(64, 1024)
	assert.Equal(t, Payload{Kind: Lognormal, Min: 32, Max: 16384, Median: 64, P99: 1024}, p)
	assert.Equal(t, "lognormal(64, 1024)", p.String())
	sigma := math.Log(1024.0/64) / (math.Sqrt2 * math.Erfinv(2*0.99-1))
	beyond := math.Erfc(math.Log(float64(p.Max)/64)/sigma/math.Sqrt2) / 2
	assert.InDelta(t, 600_000, 1/beyond, 50_000)
	assert.Equal(t, payloadBytesMax, lognormal(64, payloadBytesMax).Max)
}

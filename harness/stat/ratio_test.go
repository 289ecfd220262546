package stat_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/stat"
)

func TestPairedRatioKnownValues(t *testing.T) {
	logs, err := stat.LogRatios([]float64{90, 180, 45}, []float64{100, 200, 50})
	require.NoError(t, err)
	r, err := stat.PairedRatio(logs, 0)
	require.NoError(t, err)
	for _, v := range []float64{r.Center, r.Low, r.High} {
		assert.InDelta(t, 0.9, v, 1e-12, "the host's speed affects both rounds of a pair")
	}
	assert.NotEmpty(t, r.Warnings, "three pairs are too few for an interval")
	logs, err = stat.LogRatios([]float64{10}, []float64{5}, []float64{20})
	require.NoError(t, err)
	assert.InDelta(t, 0, logs[0], 1e-12, "the geometric mean of 5 and 20 is 10")
	far := []float64{0, 0.01, -0.01, 0.02, -0.02, 0.005, -0.005, 3}
	r, err = stat.PairedRatio(far, 0)
	require.NoError(t, err)
	assert.InDelta(t, 1, r.Center, 0.02, "one outlier does not affect the ratio")
}

// The pseudomedian is the median of the means of all pairs, for any order of the values.
func TestPairedRatioIsThePseudomedian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := rapid.SliceOfN(rapid.Float64Range(-1, 1), 1, 25).Draw(t, "logs")
		var means []float64
		for i, a := range logs {
			for _, b := range logs[i:] {
				means = append(means, (a+b)/2)
			}
		}
		r, err := stat.PairedRatio(logs, 50)
		require.NoError(t, err)
		require.InDelta(t, math.Exp(naiveMedian(means)), r.Center, 1e-9)
		require.LessOrEqual(t, r.Low, r.High)
		require.GreaterOrEqual(t, r.Low, math.Exp(slices.Min(logs))-1e-9)
		require.LessOrEqual(t, r.High, math.Exp(slices.Max(logs))+1e-9)
		again, err := stat.PairedRatio(logs, 50)
		require.NoError(t, err)
		require.Equal(t, r, again, "PairedRatio must be deterministic")
		moved := make([]float64, len(logs))
		for i, v := range logs {
			moved[i] = v + 0.1
		}
		up, err := stat.PairedRatio(moved, 50)
		require.NoError(t, err)
		require.InDelta(t, r.Low*math.Exp(0.1), up.Low, 1e-9, "the interval moves with the values")
	})
}

// The interval contains the true ratio about as often as stated.
func TestPairedRatioCoverage(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const trials = 1000
	for _, n := range []int{10, 18} {
		held := 0
		for range trials {
			logs := make([]float64, n)
			for i := range logs {
				logs[i] = heavy(random)
			}
			r, err := stat.PairedRatio(logs, 300)
			require.NoError(t, err)
			if r.Low <= 1 && 1 <= r.High {
				held++
			}
		}
		assert.Greater(t, float64(held)/trials, 0.90, "n = %d", n)
	}
}

func TestUnpairedRatio(t *testing.T) {
	r, err := stat.UnpairedRatio([]float64{10, 11, 9, 10, 10, 12}, []float64{20, 21, 19, 20, 20, 22}, 0)
	require.NoError(t, err)
	assert.InDelta(t, 2, r.Center, 1e-12)
	assert.Greater(t, r.Low, 1.5)
	assert.Less(t, r.High, 2.5)
	random := rand.New(rand.NewPCG(7, 8))
	held := 0
	for range 500 {
		base, change := make([]float64, 12), make([]float64, 9)
		for i := range base {
			base[i] = math.Exp(0.1 * random.NormFloat64())
		}
		for i := range change {
			change[i] = 0.9 * math.Exp(0.1*random.NormFloat64())
		}
		r, err := stat.UnpairedRatio(base, change, 300)
		require.NoError(t, err)
		if r.Low <= 0.9 && 0.9 <= r.High {
			held++
		}
	}
	assert.Greater(t, held, 450, "of 500")
}

func TestPercentileRatioIsOfMergedHistograms(t *testing.T) {
	many := func(value int64, n int64) *hdrhistogram.Histogram {
		h := hdrhistogram.New(1, 1_000_000_000, 3)
		require.NoError(t, h.RecordValues(value, n))
		return h
	}
	// A mean of percentiles would be (1000 + 100000) / 2, but only one sample in a thousand is
	// slow.
	base := []*hdrhistogram.Histogram{many(1000, 1000), many(1000, 1000)}
	change := []*hdrhistogram.Histogram{many(1000, 1998), many(100_000, 2)}
	r, err := stat.PercentileRatio(change, 99, true, 200, base)
	require.NoError(t, err)
	assert.InDelta(t, 1, r.Center, 0.01)
	assert.InDelta(t, 100, r.High, 1, "a resample of slow rounds only")
	r, err = stat.PercentileRatio([]*hdrhistogram.Histogram{many(2000, 10), many(2000, 10)}, 50, true, 100, base, base)
	require.NoError(t, err)
	assert.InDelta(t, 2, r.Center, 0.01, "two bases are merged")
	r, err = stat.PercentileRatio(change[:1], 50, false, 100, base)
	require.NoError(t, err)
	assert.InDelta(t, 1, r.Center, 0.01)
}

// Rounds with the same index are drawn together, so a change of the host that affects both is not
// in the interval.
func TestPercentileRatioOfPairs(t *testing.T) {
	var base, change []*hdrhistogram.Histogram
	for _, host := range []int64{1, 8, 2, 16, 4, 1} {
		base, change = append(base, histogram(t, 10_000*host)), append(change, histogram(t, 20_000*host))
	}
	pairs, err := stat.PercentileRatio(change, 50, true, 200, base)
	require.NoError(t, err)
	assert.InDelta(t, 2, pairs.Low, 0.01)
	assert.InDelta(t, 2, pairs.High, 0.01)
	apart, err := stat.PercentileRatio(change, 50, false, 200, base)
	require.NoError(t, err)
	assert.Greater(t, apart.High, 3.0)
}

func TestPercentileRatioRefuses(t *testing.T) {
	sound := []*hdrhistogram.Histogram{histogram(t, 5)}
	for _, p := range []float64{0, -1, 101, math.NaN()} {
		_, err := stat.PercentileRatio(sound, p, true, 10, sound)
		require.Error(t, err)
	}
	for _, bad := range [][]*hdrhistogram.Histogram{nil, {nil}, {histogram(t)}} {
		_, err := stat.PercentileRatio(bad, 50, true, 10, sound)
		require.Error(t, err)
		_, err = stat.PercentileRatio(sound, 50, true, 10, bad)
		require.Error(t, err)
	}
	_, err := stat.PercentileRatio(sound, 50, true, 10, []*hdrhistogram.Histogram{histogram(t, 5), histogram(t, 6)})
	golden.Cases(t, "testdata/percentileratio.golden").Error(t, "no pairs", err)
	_, err = stat.PercentileRatio(sound, 50, true, 10)
	require.Error(t, err)
}

// Without resampling the ratio equals that of the percentiles of the merged histograms.
func TestPercentileRatioFollowsPercentile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := func(name string) ([]*hdrhistogram.Histogram, *hdrhistogram.Histogram) {
			merged := histogram(t)
			var rounds []*hdrhistogram.Histogram
			for range rapid.IntRange(1, 4).Draw(t, name) {
				h := histogram(t, rapid.SliceOfN(rapid.Int64Range(100, 1_000_000), 5, 30).Draw(t, "values")...)
				merged.Merge(h)
				rounds = append(rounds, h)
			}
			return rounds, merged
		}
		base, allBase := side("base")
		change, allChange := side("change")
		p := rapid.Float64Range(1, 100).Draw(t, "p")
		r, err := stat.PercentileRatio(change, p, false, 10, base)
		require.NoError(t, err)
		a, err := stat.Percentile(allChange, p)
		require.NoError(t, err)
		b, err := stat.Percentile(allBase, p)
		require.NoError(t, err)
		require.InEpsilon(t, a/b, r.Center, 0.03)
	})
}

func TestDetectable(t *testing.T) {
	// 18 pairs at 1 %: (2.898 + 0.863) * 0.04 / sqrt(18 * 0.955) = 0.0363, of which the exponential
	// is 3.7 %.
	d, err := stat.Detectable(18, 0.04, 0.01)
	require.NoError(t, err)
	assert.InDelta(t, 0.037, d, 0.001)
	_, err = stat.Detectable(5, 0.04, 0.05)
	golden.Cases(t, "testdata/detectable.golden").Error(t, "few pairs", err)
	assert.Equal(t, 6, stat.MinPairs(0.05))
	assert.Equal(t, 8, stat.MinPairs(0.01))
	for _, bad := range []float64{math.NaN(), -1, math.Inf(1)} {
		_, err = stat.Detectable(18, bad, 0.05)
		require.Error(t, err)
	}
	for _, bad := range []float64{math.NaN(), 0, 1} {
		_, err = stat.Detectable(18, 0.1, bad)
		require.Error(t, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(10, 100).Draw(t, "n")
		spread := rapid.Float64Range(0.001, 0.3).Draw(t, "spread")
		one, err := stat.Detectable(n, spread, 0.01)
		require.NoError(t, err)
		more, err := stat.Detectable(n+5, spread, 0.01)
		require.NoError(t, err)
		wider, err := stat.Detectable(n, 2*spread, 0.01)
		require.NoError(t, err)
		strict, err := stat.Detectable(n, spread, 0.003)
		require.NoError(t, err)
		require.Less(t, more, one)
		require.Greater(t, wider, one)
		require.Greater(t, strict, one)
		require.Positive(t, one)
	})
}

// A detectable effect is found about as often as stated.
func TestDetectableIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for _, c := range []struct {
		n     int
		alpha float64
	}{{18, 0.01}, {12, 0.05}, {30, 0.0025}} {
		effect, err := stat.Detectable(c.n, 0.05, c.alpha)
		require.NoError(t, err)
		found := 0
		const trials = 1500
		for range trials {
			pairs := make([]float64, c.n)
			for i := range pairs {
				pairs[i] = math.Log1p(effect) + 0.05*random.NormFloat64()
			}
			got, err := stat.SignedRank(pairs, 0.05)
			require.NoError(t, err)
			if got.P <= c.alpha {
				found++
			}
		}
		assert.InDelta(t, stat.Power, float64(found)/trials, 0.06, "n = %d", c.n)
	}
}

func TestStdDev(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	values := make([]float64, 5000)
	for i := range values {
		values[i] = 3 + 0.2*random.NormFloat64()
	}
	s, err := stat.StdDev(values)
	require.NoError(t, err)
	assert.InDelta(t, 0.2, s, 0.01)
	s, err = stat.StdDev([]float64{1, 1, 1, 1, 5})
	require.NoError(t, err)
	assert.Positive(t, s, "must not be 0 only because most values are equal")
	_, err = stat.StdDev([]float64{1})
	require.Error(t, err)
}

func TestWilsonInterval(t *testing.T) {
	low, high := stat.WilsonInterval(0, 100)
	assert.InDelta(t, 0, low, 1e-12)
	assert.InDelta(t, 0.037, high, 0.001)
	low, high = stat.WilsonInterval(90, 100)
	assert.InDelta(t, 0.826, low, 0.001)
	assert.InDelta(t, 0.945, high, 0.001)
	for _, bad := range [][2]int{{0, 0}, {-1, 5}, {6, 5}} {
		low, high = stat.WilsonInterval(bad[0], bad[1])
		assert.Equal(t, []float64{0, 1}, []float64{low, high})
	}
}

package stat_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/stat"
)

func finite() *rapid.Generator[float64] { return rapid.Float64Range(-1e12, 1e12) }

func naiveMedian(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	m := len(s) / 2
	if len(s)%2 == 1 {
		return s[m]
	}
	return s[m-1] + (s[m]-s[m-1])/2
}

func TestSummariseKnownValues(t *testing.T) {
	s, err := stat.Summarise([]float64{7, 1, 3, 2, 6, 5, 4})
	require.NoError(t, err)
	assert.Equal(t, stat.Summary{Center: 4, Low: 1, High: 7, N: 7, Confidence: 1 - 2.0/128}, s)

	s, err = stat.Summarise([]float64{3, 1, 2})
	require.NoError(t, err)
	assert.InDelta(t, 0.75, s.Confidence, 1e-12, "all three values are above the median, or all below, with a probability of 1 in 4")
	assert.Equal(t, []float64{2, 1, 3}, []float64{s.Center, s.Low, s.High})
	require.Len(t, s.Warnings, 1)
	assert.Contains(t, s.Warnings[0], "n = 3")
}

// For eleven values the interval is narrower than the range: the second to the ninth value contain
// the median with 96 %, the shortest such interval that reaches 95 %.
func TestSummariseIntervalIsOrderStatistics(t *testing.T) {
	s, err := stat.Summarise([]float64{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1})
	require.NoError(t, err)
	assert.Equal(t, []float64{6, 2, 9}, []float64{s.Center, s.Low, s.High})
}

// The interval contains the true median at least as often as stated, for any distribution.
func TestIntervalCoverage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{6, 7, 10, 11, 25} {
		const trials = 4000
		held := 0
		for range trials {
			values := make([]float64, n)
			for i := range values {
				values[i] = random.ExpFloat64() // its median is ln 2
			}
			s, err := stat.Summarise(values)
			require.NoError(t, err)
			if s.Low <= math.Ln2 && math.Ln2 <= s.High {
				held++
			}
		}
		assert.Greater(t, float64(held)/trials, 0.94, "n = %d", n)
	}
}

func TestSummariseRefuses(t *testing.T) {
	for _, values := range [][]float64{nil, {}, {math.NaN()}, {1, math.Inf(1)}, {1, 2, 3, 4, 5, 6, math.Inf(-1)}} {
		s, err := stat.Summarise(values)
		require.Error(t, err, "%v", values)
		assert.Zero(t, s, "an error returns no summary")
	}
	_, err := stat.Summarise(nil)
	require.ErrorIs(t, err, stat.ErrNoValues)
	_, err = stat.Summarise([]float64{4, math.NaN()})
	golden.Cases(t, "testdata/summaries.golden").Error(t, "not a number", err)
}

func TestSummariseProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(finite(), 1, 60).Draw(t, "values")
		before := slices.Clone(values)
		s, err := stat.Summarise(values)
		require.NoError(t, err)
		require.Equal(t, before, values, "the input must not be reordered")
		require.Equal(t, len(values), s.N)
		require.Equal(t, len(values) >= stat.MinIntervalN, s.Confidence >= stat.Level)
		require.InDelta(t, naiveMedian(values), s.Center, 1e-3)
		require.LessOrEqual(t, s.Low, s.Center)
		require.LessOrEqual(t, s.Center, s.High)
		require.Contains(t, values, s.Low, "bounds are measured values")
		require.Contains(t, values, s.High)
		if s.Confidence < stat.Level {
			require.Equal(t, slices.Min(values), s.Low)
			require.Equal(t, slices.Max(values), s.High)
			require.NotEmpty(t, s.Warnings)
		}
		shuffled, err := stat.Summarise(rapid.Permutation(values).Draw(t, "shuffled"))
		require.NoError(t, err)
		require.Equal(t, s, shuffled, "the order must not matter")
	})
}

func TestSummariseRefusesNonFiniteAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(finite(), 1, 20).Draw(t, "values")
		at := rapid.IntRange(0, len(values)-1).Draw(t, "at")
		values[at] = rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}).Draw(t, "bad")
		_, err := stat.Summarise(values)
		require.Error(t, err)
	})
}

func TestMedianRanks(t *testing.T) {
	for _, c := range []struct {
		n, low, high int
		percent      float64
	}{
		{1, 1, 1, 0},
		{2, 1, 2, 50},
		{3, 1, 3, 75},
		{5, 1, 5, 93.75},
		{6, 1, 6, 96.875},
		{7, 1, 7, 98.4375},
		{8, 1, 7, 96.09375},
		{9, 2, 8, 96.09375},
		{10, 2, 9, 97.8515625},
		{12, 3, 10, 96.14},
		{40, 14, 27, 96.15},
	} {
		low, high, confidence := stat.MedianRanks(c.n)
		assert.Equal(t, []int{c.low, c.high}, []int{low, high}, "n = %d", c.n)
		assert.InDelta(t, c.percent, 100*confidence, 0.01, "n = %d", c.n)
	}
}

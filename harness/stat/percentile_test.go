package stat_test

import (
	"math"
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/stat"
)

func histogram(t require.TestingT, values ...int64) *hdrhistogram.Histogram {
	h := hdrhistogram.New(1, 1_000_000_000, 3)
	for _, v := range values {
		require.NoError(t, h.RecordValue(v))
	}
	return h
}

func TestPercentileRefuses(t *testing.T) {
	_, err := stat.Percentile(nil, 50)
	require.ErrorIs(t, err, stat.ErrNoSamples)
	_, err = stat.Percentile(histogram(t), 50)
	require.ErrorIs(t, err, stat.ErrNoSamples)
	for _, p := range []float64{-1, 100.1, math.NaN()} {
		_, err = stat.Percentile(histogram(t, 1), p)
		require.Error(t, err, "%v", p)
	}
	_, err = stat.Curve(histogram(t), 10)
	require.ErrorIs(t, err, stat.ErrNoSamples)
	_, err = stat.Curve(histogram(t, 1), 0)
	require.Error(t, err)
}

func TestPercentileFollowsTheSortedSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(1, 1_000_000), 1, 200).Draw(t, "values")
		p := rapid.Float64Range(0.1, 100).Draw(t, "p")
		got, err := stat.Percentile(histogram(t, values...), p)
		require.NoError(t, err)
		slices.Sort(values)
		rank := min(len(values), max(1, int(p/100*float64(len(values))+0.5)))
		require.InEpsilon(t, float64(values[rank-1]), got, 0.002)
	})
}

func TestCurveRisesToTheLargestSample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := histogram(t, rapid.SliceOfN(rapid.Int64Range(1, 1_000_000), 1, 300).Draw(t, "values")...)
		points, err := stat.Curve(h, 7)
		require.NoError(t, err)
		for i := 1; i < len(points); i++ {
			require.Greater(t, points[i].Nines, points[i-1].Nines)
			require.GreaterOrEqual(t, points[i].Value, points[i-1].Value)
		}
		last := points[len(points)-1]
		require.Equal(t, float64(h.Max()), last.Value)
		require.InDelta(t, math.Log10(float64(h.TotalCount())), last.Nines, 1e-9)
	})
}

func TestNines(t *testing.T) {
	assert.InDelta(t, 0, stat.Nines(0), 1e-12)
	assert.InDelta(t, 1, stat.Nines(90), 1e-12)
	assert.InDelta(t, 3, stat.Nines(99.9), 1e-9)
}

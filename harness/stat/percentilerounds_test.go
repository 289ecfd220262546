package stat_test

import (
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/stat"
)

// One of six rounds is slow and has enough samples to determine the overall 99th percentile. A
// share of the resamples lacks it, so the interval extends to the other rounds.
func TestMergedPercentilesCoverWhatDiffersBetweenRounds(t *testing.T) {
	var rounds []*hdrhistogram.Histogram
	for range 5 {
		h := hdrhistogram.New(1, 1_000_000_000, 3)
		require.NoError(t, h.RecordValues(1000, 1000))
		rounds = append(rounds, h)
	}
	slow := hdrhistogram.New(1, 1_000_000_000, 3)
	require.NoError(t, slow.RecordValues(1000, 800))
	require.NoError(t, slow.RecordValues(50_000, 200))
	all, err := stat.MergedPercentiles(append(rounds, slow), []float64{50, 99}, 0)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.InEpsilon(t, 1000, all[0].Low, 0.001)
	assert.InEpsilon(t, 1000, all[0].High, 0.001, "the median is the same in each round")
	assert.InEpsilon(t, 50_000, all[1].Center, 0.001)
	assert.InEpsilon(t, 1000, all[1].Low, 0.001, "a third of the resamples lack the slow round")
	assert.InEpsilon(t, 50_000, all[1].High, 0.001)
	assert.Equal(t, stat.Level, all[1].Confidence)
	assert.Equal(t, 6, all[1].N)
	again, err := stat.MergedPercentiles(append(rounds, slow), []float64{50, 99}, 0)
	require.NoError(t, err)
	assert.Equal(t, all, again, "MergedPercentiles must be deterministic")
}

func TestMergedPercentilesOfFewRoundsHaveTheirRange(t *testing.T) {
	rounds := []*hdrhistogram.Histogram{histogram(t, 10, 20), histogram(t, 30), histogram(t, 40), histogram(t, 5), histogram(t, 30)}
	all, err := stat.MergedPercentiles(rounds, []float64{100}, 0)
	require.NoError(t, err)
	assert.Equal(t, 40.0, all[0].Center)
	assert.Equal(t, 5.0, all[0].Low)
	assert.Equal(t, 40.0, all[0].High)
	assert.Less(t, all[0].Confidence, stat.Level)
	assert.Len(t, all[0].Warnings, 1)
}

func TestMergedPercentilesAreThoseOfTheMergedHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		merged := histogram(t)
		var rounds []*hdrhistogram.Histogram
		for range rapid.IntRange(1, 9).Draw(t, "rounds") {
			h := histogram(t, rapid.SliceOfN(rapid.Int64Range(1, 1_000_000), 1, 40).Draw(t, "values")...)
			merged.Merge(h)
			rounds = append(rounds, h)
		}
		p := rapid.Float64Range(0.1, 100).Draw(t, "p")
		all, err := stat.MergedPercentiles(rounds, []float64{p}, 50)
		require.NoError(t, err)
		require.Equal(t, float64(merged.ValueAtPercentile(p)), all[0].Center)
		require.LessOrEqual(t, all[0].Low, all[0].Center)
		require.GreaterOrEqual(t, all[0].High, all[0].Center)
	})
}

// The rank of a percentile is rounded: it is the first of three samples in each round, and the third
// of all six.
func TestTheRangeOfRoundsIncludesThePercentile(t *testing.T) {
	all, err := stat.MergedPercentiles([]*hdrhistogram.Histogram{histogram(t, 1, 2, 2), histogram(t, 1, 2, 2)}, []float64{41.75}, 0)
	require.NoError(t, err)
	assert.Equal(t, [3]float64{1, 2, 2}, [3]float64{all[0].Low, all[0].Center, all[0].High})
}

func TestMergedPercentilesRefuse(t *testing.T) {
	_, err := stat.MergedPercentiles(nil, []float64{50}, 0)
	require.ErrorIs(t, err, stat.ErrNoValues)
	_, err = stat.MergedPercentiles([]*hdrhistogram.Histogram{histogram(t, 1), histogram(t)}, []float64{50}, 0)
	require.ErrorIs(t, err, stat.ErrNoSamples)
	_, err = stat.MergedPercentiles([]*hdrhistogram.Histogram{histogram(t, 1)}, []float64{0}, 0)
	require.Error(t, err)
}

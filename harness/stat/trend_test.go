package stat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/stat"
)

func TestFindTrendOfAStraightLine(t *testing.T) {
	values := make([]float64, 21)
	for i := range values {
		values[i] = 100 + float64(i) // 100 to 120, the median is 110
	}
	trend, err := stat.FindTrend(values)
	require.NoError(t, err)
	assert.InDelta(t, 20, trend.Percent, 1e-9)
	assert.InDelta(t, 20, trend.Rise, 1e-9)
	assert.InDelta(t, 110, trend.Median, 1e-9)
	assert.True(t, trend.Significant())
	for i := range values {
		values[i] = 120 - float64(i)
	}
	trend, err = stat.FindTrend(values)
	require.NoError(t, err)
	assert.InDelta(t, -100*20.0/120, trend.Percent, 1e-9)
	assert.True(t, trend.Significant())
}

// The example has one tie: of its 45 pairs 31 rise and 13 fall, so the score is 18. The variance is
// (10·9·25 - 2·1·9) / 18 = 124, z = 17/√124 = 1.5267, and the normal distribution beyond it on both
// sides has 0.1268.
func TestFindTrendByHand(t *testing.T) {
	values := []float64{3, 1, 2, 5, 4, 4, 8, 9, 7, 2.5}
	rise, fall := 0, 0
	for i := range values {
		for j := i + 1; j < len(values); j++ {
			if values[j] > values[i] {
				rise++
			} else if values[j] < values[i] {
				fall++
			}
		}
	}
	require.Equal(t, 18, rise-fall)
	trend, err := stat.FindTrend(values)
	require.NoError(t, err)
	assert.InDelta(t, 0.1268, trend.P, 0.0001)
	assert.False(t, trend.Significant())
}

func TestFindTrendOfConstants(t *testing.T) {
	values := make([]float64, 20)
	for i := range values {
		values[i] = 7
	}
	trend, err := stat.FindTrend(values)
	require.NoError(t, err)
	assert.Equal(t, stat.Trend{Median: 7, P: 1}, trend)
}

// One interval without work does not make a trend.
func TestFindTrendIgnoresAStall(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, 20)
	for i := range values {
		values[i] = 1000 + 10*random.NormFloat64()
	}
	values[19] = 0
	trend, err := stat.FindTrend(values)
	require.NoError(t, err)
	assert.Less(t, math.Abs(trend.Percent), 2.0)
}

// Values without a trend are significant about as often as TrendAlpha, and a rise by a third is
// found.
func TestFindTrendAlarms(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const trials = 2000
	alarms, found := 0, 0
	for range trials {
		flat, rising := make([]float64, 20), make([]float64, 20)
		for i := range flat {
			noise := 100 * random.NormFloat64()
			flat[i] = 1000 + noise
			rising[i] = 1000 + noise + 333*float64(i)/19
		}
		if trend, err := stat.FindTrend(flat); assert.NoError(t, err) && trend.Significant() {
			alarms++
		}
		if trend, err := stat.FindTrend(rising); assert.NoError(t, err) && trend.Significant() {
			found++
		}
	}
	assert.Less(t, float64(alarms)/trials, 2*stat.TrendAlpha)
	assert.Greater(t, float64(found)/trials, 0.75)
}

func TestFindTrendRefuses(t *testing.T) {
	for _, values := range [][]float64{
		nil, make([]float64, stat.TrendMinN), make([]float64, stat.TrendMinN-1), make([]float64, stat.TrendMaxN+1),
		{1, 2, 3, 4, 5, 6, 7, 8, 9, math.NaN()},
		{1, 2, 3, 4, math.Inf(1), 6, 7, 8, 9, 10},
	} {
		trend, err := stat.FindTrend(values)
		require.Error(t, err)
		assert.Zero(t, trend)
	}
}

func TestFindTrendProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(1, 1e6), stat.TrendMinN, 40).Draw(t, "values")
		trend, err := stat.FindTrend(values)
		require.NoError(t, err)
		require.GreaterOrEqual(t, trend.P, 0.0)
		require.LessOrEqual(t, trend.P, 1.0)
		backwards, scaled := make([]float64, len(values)), make([]float64, len(values))
		for i, v := range values {
			backwards[len(values)-1-i], scaled[i] = v, 4*v
		}
		other, err := stat.FindTrend(backwards)
		require.NoError(t, err)
		require.InDelta(t, -trend.Rise, other.Rise, 1e-6+1e-9*math.Abs(trend.Rise))
		require.InDelta(t, trend.P, other.P, 1e-12)
		other, err = stat.FindTrend(scaled)
		require.NoError(t, err)
		require.InDelta(t, trend.Percent, other.Percent, 1e-6+1e-9*math.Abs(trend.Percent))
	})
}

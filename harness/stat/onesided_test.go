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

func TestMeanAgainstATable(t *testing.T) {
	m, err := stat.TrimmedMean([]float64{4, 2, 5, 1, 3}, 0)
	require.NoError(t, err)
	assert.InDelta(t, 3, m.Center, 1e-12)
	assert.InDelta(t, math.Sqrt(0.5), m.StdErr, 1e-12)
	// T of 4 degrees of freedom at 95 %.
	assert.InDelta(t, 3-2.1318*math.Sqrt(0.5), m.Lower(0.05), 1e-4)
	assert.InDelta(t, 3+2.1318*math.Sqrt(0.5), m.Upper(0.05), 1e-4)
	assert.InDelta(t, 0.05, m.PAbove(3-2.1318*math.Sqrt(0.5)), 1e-5)
	assert.InDelta(t, 0.5, m.PAbove(3), 1e-12)
	assert.InDelta(t, 1+(2.1318+0.9410)*math.Sqrt(0.5), m.DetectableAbove(1, 0.05), 1e-3)
}

// The standard error is sqrt(SSD / (h (h-1))) of the h remaining values, where SSD is the sum of
// squared deviations of the Winsorised values: here 2, 2, 3, 4, 4.
func TestTrimmedMean(t *testing.T) {
	values := []float64{100, 2, 3, -7, 4}
	m, err := stat.TrimmedMean(values, 0.2)
	require.NoError(t, err)
	assert.InDelta(t, 3, m.Center, 1e-12)
	assert.InDelta(t, math.Sqrt(4.0/(3*2)), m.StdErr, 1e-12)
	assert.Equal(t, 2, m.Degrees)
	assert.Equal(t, []float64{100, 2, 3, -7, 4}, values, "the arguments must not be modified")
}

func TestMeanOfEqualValues(t *testing.T) {
	m, err := stat.TrimmedMean([]float64{2, 2}, 0)
	require.NoError(t, err)
	assert.Zero(t, m.PAbove(1))
	assert.InDelta(t, 1, m.PAbove(2), 0)
	assert.InDelta(t, 2, m.Lower(0.01), 0)
}

func TestMeanThatIsUnknown(t *testing.T) {
	for _, values := range [][]float64{nil, {1}, {1, math.NaN()}, {1, math.Inf(1)}, {math.MaxFloat64, -math.MaxFloat64}} {
		_, err := stat.TrimmedMean(values, 0)
		assert.Error(t, err, values)
	}
	for _, share := range []float64{-0.1, 0.5, math.NaN()} {
		_, err := stat.TrimmedMean([]float64{1, 2, 3, 4}, share)
		assert.Error(t, err, share)
	}
	_, err := stat.TrimmedMean([]float64{1, 2, 3}, 0.4)
	assert.Error(t, err, "only one value remains")
}

// The bound and the test must agree.
func TestLowerBoundIsTheTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := stat.TrimmedMean(rapid.SliceOfN(rapid.Float64Range(-1, 1), 6, 30).Draw(t, "values"), rapid.Float64Range(0, 0.3).Draw(t, "share"))
		require.NoError(t, err)
		limit, alpha := rapid.Float64Range(-1, 1).Draw(t, "limit"), rapid.Float64Range(0.0001, 0.4).Draw(t, "alpha")
		if m.StdErr > 1e-6 && math.Abs(m.Lower(alpha)-limit) > 1e-6 {
			assert.Equal(t, m.Lower(alpha) > limit, m.PAbove(limit) < alpha)
		}
		assert.LessOrEqual(t, m.Lower(alpha), m.Upper(alpha))
	})
}

// One outlier in either direction is no evidence.
func TestOneExtremeValueIsNoEvidence(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		values := make([]float64, 6+random.IntN(40))
		for i := range values {
			values[i] = 0.02 * random.NormFloat64()
		}
		values[0] = 100 * random.NormFloat64()
		m, err := stat.TrimmedMean(values, 0)
		require.NoError(t, err)
		assert.Greater(t, m.PAbove(0.01), 0.1)
	}
}

func TestHolmWeighted(t *testing.T) {
	steps := stat.HolmWeighted([]float64{0.02, 0.004, 0.5}, []float64{0.5, 0.2, 0.3}, 0.05)
	assert.InDelta(t, 0.004/0.2, steps[1].Adjusted, 1e-12)
	assert.InDelta(t, 0.02*0.8/0.5, steps[0].Adjusted, 1e-12)
	assert.InDelta(t, 0.5, steps[2].Adjusted, 1e-12)
	assert.InDelta(t, 0.05*0.2, steps[1].Level, 1e-12)
	assert.InDelta(t, 0.05*0.5/0.8, steps[0].Level, 1e-12)
	assert.InDelta(t, 0.05, steps[2].Level, 1e-12, "the last test gets all of alpha")
	assert.Empty(t, stat.HolmWeighted(nil, nil, 0.05))
}

// Adjusted and Level must agree.
func TestHolmLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		ps := rapid.SliceOfN(rapid.Float64Range(0, 0.2), n, n).Draw(t, "ps")
		weights := rapid.SliceOfN(rapid.Float64Range(0.05, 1), n, n).Draw(t, "weights")
		const alpha = 0.05
		for i, s := range stat.HolmWeighted(ps, weights, alpha) {
			if math.Abs(s.Adjusted-alpha) > 1e-9 {
				assert.Equal(t, s.Adjusted <= alpha, ps[i] <= s.Level, "%v at level %v, adjusted %v", ps[i], s.Level, s.Adjusted)
			}
		}
	})
}

func TestAtLeast(t *testing.T) {
	assert.InDelta(t, 1.0/256, stat.AtLeast(8, 8, 0.5), 1e-12)
	assert.InDelta(t, 56.0/1024, stat.AtLeast(8, 10, 0.5), 1e-12)
	assert.InDelta(t, 1, stat.AtLeast(0, 10, 0.5), 0)
	assert.InDelta(t, 1, stat.AtLeast(0, 0, 0.5), 0)
	assert.InDelta(t, 0, stat.AtLeast(3, 2, 0.5), 0)
}

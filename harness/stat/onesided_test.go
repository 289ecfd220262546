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
	m, err := stat.MeanOf([]float64{1, 2, 3, 4, 5})
	require.NoError(t, err)
	assert.InDelta(t, 3, m.Center, 1e-12)
	assert.InDelta(t, math.Sqrt(0.5), m.StdErr, 1e-12)
	assert.InDelta(t, 3-2.1318*math.Sqrt(0.5), m.Lower(0.05), 1e-4) // t of 4 degrees of freedom at 95 %
	assert.InDelta(t, 3+2.1318*math.Sqrt(0.5), m.Upper(0.05), 1e-4)
	assert.InDelta(t, 0.05, m.PAbove(3-2.1318*math.Sqrt(0.5)), 1e-5)
	assert.InDelta(t, 0.5, m.PAbove(3), 1e-12)
	assert.InDelta(t, 1+(2.1318+0.9410)*math.Sqrt(0.5), m.DetectableAbove(1, 0.05), 1e-3)
}

func TestMeanOfEqualValues(t *testing.T) {
	m, err := stat.MeanOf([]float64{2, 2})
	require.NoError(t, err)
	assert.Zero(t, m.PAbove(1))
	assert.InDelta(t, 1, m.PAbove(2), 0)
	assert.InDelta(t, 2, m.Lower(0.01), 0)
}

func TestMeanThatIsUnknown(t *testing.T) {
	for _, values := range [][]float64{nil, {1}, {1, math.NaN()}, {1, math.Inf(1)}, {math.MaxFloat64, -math.MaxFloat64}} {
		_, err := stat.MeanOf(values)
		assert.Error(t, err, values)
	}
}

// The bound and the test say the same.
func TestLowerBoundIsTheTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := stat.MeanOf(rapid.SliceOfN(rapid.Float64Range(-1, 1), 2, 30).Draw(t, "values"))
		require.NoError(t, err)
		limit, alpha := rapid.Float64Range(-1, 1).Draw(t, "limit"), rapid.Float64Range(0.0001, 0.4).Draw(t, "alpha")
		if m.StdErr > 1e-6 && math.Abs(m.Lower(alpha)-limit) > 1e-6 {
			assert.Equal(t, m.Lower(alpha) > limit, m.PAbove(limit) < alpha)
		}
		assert.LessOrEqual(t, m.Lower(alpha), m.Upper(alpha))
	})
}

// One value far out is no evidence, in whatever direction.
func TestOneExtremeValueIsNoEvidence(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		values := make([]float64, 6+random.IntN(40))
		for i := range values {
			values[i] = 0.02 * random.NormFloat64()
		}
		values[0] = 100 * random.NormFloat64()
		m, err := stat.MeanOf(values)
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
	assert.InDelta(t, 0.05, steps[2].Level, 1e-12, "the last one has the whole of alpha")
	assert.Empty(t, stat.HolmWeighted(nil, nil, 0.05))
}

// Adjusted and Level say the same.
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

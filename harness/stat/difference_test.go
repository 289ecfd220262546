package stat_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/stat"
)

// noisy returns n values around a mean that vary by a tenth and are sums of many events.
func noisy(random *rand.Rand, n int, mean float64) []stat.Counted {
	values := make([]stat.Counted, n)
	for i := range values {
		values[i] = stat.Counted{Value: mean * (1 + 0.1*random.NormFloat64()), Events: 1e6}
	}
	return values
}

// For equal sides few intervals exclude zero, even with few values; for very different sides nearly
// all do.
func TestMeanDifferenceHoldsItsLevel(t *testing.T) {
	const trials = 400
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 3, 5, 12} {
		alarms, found := 0, 0
		for range trials {
			same, err := stat.MeanDifference(noisy(random, n, 100), noisy(random, n, 100))
			require.NoError(t, err)
			if same.Low > 0 || same.High < 0 {
				alarms++
			}
			other, err := stat.MeanDifference(noisy(random, n, 100), noisy(random, n, 200))
			require.NoError(t, err)
			if other.Low > 0 {
				found++
			}
		}
		assert.LessOrEqual(t, alarms, trials*8/100, "n = %d", n)
		assert.GreaterOrEqual(t, found, trials*60/100, "n = %d", n)
	}
}

// One sample in each round of one side and none on the other is within chance.
func TestMeanDifferenceKnowsThatCountsVary(t *testing.T) {
	few, err := stat.MeanDifference([]stat.Counted{{}, {}}, []stat.Counted{{Value: 10, Events: 1}, {Value: 10, Events: 1}})
	require.NoError(t, err)
	assert.Negative(t, few.Low)
	many, err := stat.MeanDifference([]stat.Counted{{}, {}}, []stat.Counted{{Value: 1000, Events: 100}, {Value: 1000, Events: 100}})
	require.NoError(t, err)
	assert.Positive(t, many.Low)
	assert.Equal(t, 2, many.N)
	assert.InDelta(t, 1000, many.Change, 0)
}

func TestMeanDifferenceThatThereIsNot(t *testing.T) {
	s := golden.Cases(t, "testdata/differences.golden")
	one, two := make([]stat.Counted, 1), make([]stat.Counted, 2)
	_, err := stat.MeanDifference(one, two)
	s.Error(t, "few values", err)
	_, err = stat.MeanDifference(two, nil)
	require.Error(t, err)
	for _, bad := range []stat.Counted{{Value: math.NaN()}, {Value: math.Inf(1)}, {Events: -1}, {Events: math.NaN()}, {Events: math.Inf(1)}} {
		_, err = stat.MeanDifference(two, []stat.Counted{{}, bad})
		s.Error(t, fmt.Sprintf("%+v", bad), err)
	}
}

// The interval contains the difference, is deterministic, and is about its negative if the sides
// are exchanged.
func TestMeanDifferenceProperty(t *testing.T) {
	value := rapid.Custom(func(t *rapid.T) stat.Counted {
		return stat.Counted{Value: rapid.Float64Range(0, 1e9).Draw(t, "value"), Events: rapid.Float64Range(0, 1e4).Draw(t, "events")}
	})
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SliceOfN(value, 2, 6).Draw(t, "base")
		change := rapid.SliceOfN(value, 2, 6).Draw(t, "change")
		d, err := stat.MeanDifference(base, change)
		require.NoError(t, err)
		slack := 1e-6 * (1 + math.Abs(d.Base) + math.Abs(d.Change))
		require.LessOrEqual(t, d.Low, d.Change-d.Base+slack)
		require.GreaterOrEqual(t, d.High, d.Change-d.Base-slack)
		again, err := stat.MeanDifference(base, change)
		require.NoError(t, err)
		require.Equal(t, d, again)
	})
}

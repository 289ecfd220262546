package stat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/stat"
)

const changeSeed = 1

// levels returns values around the given levels, the same number for each, with Gaussian noise.
func levels(random *rand.Rand, each int, sd float64, of ...float64) []float64 {
	var values []float64
	for _, level := range of {
		for range each {
			values = append(values, level+sd*random.NormFloat64())
		}
	}
	return values
}

// changesIn returns the positions of the change points.
func changesIn(t *testing.T, values []float64) []int {
	t.Helper()
	found, err := stat.FindChangePoints(values, changeSeed)
	require.NoError(t, err)
	at := []int{}
	for _, c := range found {
		at = append(at, c.At)
	}
	return at
}

func TestFindChangePointsOfAClearStep(t *testing.T) {
	values := []float64{100, 101, 99, 100, 102, 98, 100, 90, 91, 89, 90, 92, 90}
	found, err := stat.FindChangePoints(values, changeSeed)
	require.NoError(t, err)
	require.Len(t, found, 1)
	c := found[0]
	assert.Equal(t, 7, c.At)
	assert.LessOrEqual(t, c.P, stat.ChangeAlpha)
	assert.InDelta(t, 100, c.Before.Center, 0)
	assert.InDelta(t, 90, c.After.Center, 0)
	assert.Equal(t, 7, c.Before.N)
	assert.Equal(t, 6, c.After.N)
	assert.True(t, c.OfLevel())
}

func TestFindChangePointsOfConstants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64Range(-1e9, 1e9).Draw(t, "value")
		values := make([]float64, rapid.IntRange(stat.ChangeMinN, 60).Draw(t, "n"))
		for i := range values {
			values[i] = value
		}
		found, err := stat.FindChangePoints(values, changeSeed)
		require.NoError(t, err)
		require.Empty(t, found)
	})
}

// One outlier in an otherwise constant series is not a change at any position: shuffles put it in
// equally clear positions.
func TestFindChangePointsOfOneOtherValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := make([]float64, rapid.IntRange(stat.ChangeMinN, 60).Draw(t, "n"))
		usual := rapid.Float64Range(-10, 10).Draw(t, "usual")
		for i := range values {
			values[i] = usual
		}
		values[rapid.IntRange(0, len(values)-1).Draw(t, "at")] = rapid.Float64Range(-1e6, 1e6).Draw(t, "other")
		found, err := stat.FindChangePoints(values, changeSeed)
		require.NoError(t, err)
		require.Empty(t, found)
	})
}

// Change points do not depend on the unit, the zero or the sign of a figure. Whole numbers and
// powers of two keep all digits.
func TestFindChangePointsWhateverTheUnit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.SliceOfN(rapid.IntRange(0, 12), stat.ChangeMinN, 40).Draw(t, "values")
		shift := rapid.IntRange(-1000, 1000).Draw(t, "shift")
		scale := rapid.SampledFrom([]float64{-2, 0.25, 1, 1024}).Draw(t, "scale")
		step := rapid.IntRange(0, 30).Draw(t, "step")
		values, other := make([]float64, len(whole)), make([]float64, len(whole))
		for i, v := range whole {
			if i >= len(whole)/2 {
				v += step
			}
			values[i], other[i] = float64(v), scale*float64(v+shift)
		}
		found, err := stat.FindChangePoints(values, changeSeed)
		require.NoError(t, err)
		same, err := stat.FindChangePoints(other, changeSeed)
		require.NoError(t, err)
		require.Len(t, same, len(found))
		for i, c := range found {
			require.Equal(t, c.At, same[i].At)
			require.InDelta(t, c.P, same[i].P, 0)
			require.InDelta(t, scale*(c.Before.Center+float64(shift)), same[i].Before.Center, 1e-9)
		}
	})
}

// Equal values and seeds yield equal change points, each with at least the minimum number of values
// on both sides.
func TestFindChangePointsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 10), stat.ChangeMinN, 60).Draw(t, "values")
		for i := range values {
			values[i] += 40 * float64(i/15)
		}
		seed := rapid.Uint64().Draw(t, "seed")
		found, err := stat.FindChangePoints(values, seed)
		require.NoError(t, err)
		again, err := stat.FindChangePoints(values, seed)
		require.NoError(t, err)
		require.Equal(t, found, again)
		last := 0
		for i, c := range found {
			require.GreaterOrEqual(t, c.At-last, stat.ChangeMinSide)
			require.Equal(t, c.At-last, c.Before.N)
			require.Greater(t, c.P, 0.0)
			require.LessOrEqual(t, c.P, stat.ChangeAlpha)
			if i > 0 {
				require.Equal(t, found[i-1].After, c.Before)
			}
			last = c.At
		}
		require.GreaterOrEqual(t, len(values)-last, stat.ChangeMinSide)
	})
}

// Shapes that occur in published series of performance tests, with noise of 2 % unless stated
// otherwise.
func TestFindChangePointsOfShapes(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	stepUpAndBack := levels(random, 12, 20, 1000, 1100, 1000)
	twoSteps := levels(random, 12, 20, 1000, 1100, 1250)
	outliers := levels(random, 40, 20, 1000)
	outliers[7], outliers[19], outliers[33] = 300, 350, 1900
	twins := levels(random, 40, 20, 1000)
	twins[20], twins[21] = 400, 420
	mixed := levels(random, 40, 20, 1000)
	for i := range mixed {
		mixed[i] = 1000 + (mixed[i]-1000)*[]float64{1, 4, 2, 8}[i%4]
	}
	for _, c := range []struct {
		name   string
		values []float64
		want   []int
	}{
		{"noise alone", levels(random, 40, 20, 1000), []int{}},
		{"one step", levels(random, 15, 20, 1000, 930), []int{15}},
		{"a step up and back", stepUpAndBack, []int{12, 24}},
		{"two steps", twoSteps, []int{12, 24}},
		{"outliers alone", outliers, []int{}},
		{"two neighbours far out", twins, []int{}},
		{"noise with a varying spread", mixed, []int{}},
		{"a step with too few values after it", append(levels(random, 20, 20, 1000), levels(random, stat.ChangeMinSide-3, 20, 800)...), []int{}},
		{"a step with just enough values after it", append(levels(random, 20, 20, 1000), levels(random, stat.ChangeMinSide, 20, 800)...), []int{20}},
		{"a step with just enough values before it", append(levels(random, stat.ChangeMinSide, 20, 1000), levels(random, 20, 20, 800)...), []int{stat.ChangeMinSide}},
		{"levels of ties", append(levels(random, 8, 0, 3), levels(random, 8, 0, 4)...), []int{8}},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, changesIn(t, c.values)) })
	}
}

// A slow rise by 20 % is found as rising steps.
func TestFindChangePointsOfASlowDrift(t *testing.T) {
	values := levels(rand.New(rand.NewPCG(7, 8)), 60, 10, 1000)
	for i := range values {
		values[i] += 200 * float64(i) / 59
	}
	found, err := stat.FindChangePoints(values, changeSeed)
	require.NoError(t, err)
	require.NotEmpty(t, found)
	for _, c := range found {
		assert.Greater(t, c.After.Center, c.Before.Center)
		assert.True(t, c.OfLevel())
	}
}

// A spread that grows fourfold is a change, but not one of the level.
func TestFindChangePointsOfTheSpread(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	found, err := stat.FindChangePoints(append(levels(random, 40, 10, 1000), levels(random, 40, 40, 1000)...), changeSeed)
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.InDelta(t, 40, found[0].At, 4)
	assert.False(t, found[0].OfLevel())
}

// About ChangeAlpha of the series without a change have one, and larger steps are found more often.
func TestFindChangePointsAlarmsAndPower(t *testing.T) {
	const trials, n = 400, 30
	random := rand.New(rand.NewPCG(11, 12))
	found := func(step float64) (any, near int) {
		for range trials {
			points := changesIn(t, levels(random, n/2, 1, 0, step))
			if len(points) == 0 {
				continue
			}
			any++
			if math.Abs(float64(points[0]-n/2)) <= 2 {
				near++
			}
		}
		return any, near
	}
	alarms, _ := found(0)
	assert.LessOrEqual(t, alarms, int(2.5*stat.ChangeAlpha*trials))
	var counts []int
	for _, step := range []float64{1, 2, 3} {
		_, near := found(step)
		counts = append(counts, near)
	}
	t.Logf("of %d series of %d: %d alarms without a step; steps of 1, 2 and 3 standard deviations found within 2 values: %v", trials, n, alarms, counts)
	assert.Greater(t, counts[0], trials/10)
	assert.Greater(t, counts[1], 8*trials/10)
	assert.Greater(t, counts[2], 98*trials/100)
}

func TestFindChangePointsRefuses(t *testing.T) {
	sound := func(n int) []float64 { return make([]float64, n) }
	with := func(v float64) []float64 {
		values := sound(stat.ChangeMinN)
		values[3] = v
		return values
	}
	far := with(math.MaxFloat64)
	far[4] = -math.MaxFloat64
	s := golden.Cases(t, "testdata/changepoints.golden")
	for name, values := range map[string][]float64{
		"none":          nil,
		"few":           sound(stat.ChangeMinN - 1),
		"many":          sound(stat.ChangeMaxN + 1),
		"not a number":  with(math.NaN()),
		"infinite":      with(math.Inf(-1)),
		"too far apart": far,
	} {
		found, err := stat.FindChangePoints(values, changeSeed)
		s.Error(t, name, err)
		assert.Nil(t, found)
	}
}

package stat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/stat"
)

// features returns functions of profiles that two sides share. Function i has 2 to 60 samples on
// average in each pair and side, and the change has more times as many of function 0. spread bounds
// the relative standard deviation of a function's cost between processes, which differs between
// functions.
func features(random *rand.Rand, count, pairs int, more, spread float64) []stat.Pairs {
	all := make([]stat.Pairs, count)
	for i := range all {
		mean := 2 * math.Pow(30, float64(i)/float64(count))
		if i == 0 {
			mean = 20
		}
		noise := spread * 2 * random.Float64()
		draw := func(times float64) stat.Counted {
			events := distuv.Poisson{Lambda: times * mean * math.Exp(noise*random.NormFloat64()), Src: random}.Rand()
			return stat.Counted{Value: 1000 * events, Events: events}
		}
		for range pairs {
			times := 1.0
			if i == 0 {
				times = more
			}
			all[i].Base, all[i].Change = append(all[i].Base, draw(1)), append(all[i].Change, draw(times))
		}
	}
	return all
}

// All intervals hold together as often as stated, with the noise of counts alone or more.
func TestModeratedDifferencesAreWrongAsOftenAsTheySay(t *testing.T) {
	t.Parallel()
	const trials, alpha = 600, 0.05
	random := rand.New(rand.NewPCG(3, 5))
	for _, spread := range []float64{0, 0.1, 0.3} {
		wrong := 0
		for range trials {
			differences, err := stat.ModeratedDifferences(features(random, 40, 6, 1, spread), alpha, 40)
			require.NoError(t, err)
			for _, d := range differences {
				if d.Low > 0 || d.High < 0 {
					wrong++
					break
				}
			}
		}
		low, _ := stat.WilsonInterval(wrong, trials)
		assert.LessOrEqual(t, low, alpha, "spread %v: %d of %d", spread, wrong, trials)
	}
}

// Six pairs find differences that Student's t of each single function does not.
func TestModeratedDifferencesFindMoreThanStudentsT(t *testing.T) {
	t.Parallel()
	const trials = 200
	random := rand.New(rand.NewPCG(4, 6))
	var found [2]int
	for range trials {
		all := features(random, 40, 6, 2, 0.1)
		for i, of := range [][]stat.Pairs{all, all[:1]} {
			differences, err := stat.ModeratedDifferences(of, 0.05, 40)
			require.NoError(t, err)
			if differences[0].Low > 0 {
				found[i]++
			}
		}
	}
	assert.Greater(t, found[0], trials*9/10, "with the others")
	assert.Less(t, found[1], trials*7/10, "alone")
}

func TestModeratedDifferencesOfFewFeatures(t *testing.T) {
	t.Parallel()
	of := func(values ...float64) (all []stat.Counted) {
		for _, v := range values {
			all = append(all, stat.Counted{Value: v, Events: v})
		}
		return all
	}
	differences, err := stat.ModeratedDifferences([]stat.Pairs{{Base: of(10, 11, 12), Change: of(14, 16, 15)}}, 0.05, 1)
	require.NoError(t, err)
	d := differences[0]
	assert.InDelta(t, 11, d.Base, 1e-9)
	assert.InDelta(t, 15, d.Change, 1e-9)
	assert.Equal(t, 3, d.N)
	m, err := stat.TrimmedMean([]float64{4, 5, 3}, 0)
	require.NoError(t, err)
	assert.InDelta(t, m.Lower(0.025), d.Low, 1e-9, "one feature has Student's t")
	assert.InDelta(t, m.Upper(0.025), d.High, 1e-9)

	wider, err := stat.ModeratedDifferences([]stat.Pairs{{Base: of(10, 11, 12), Change: of(14, 16, 15)}}, 0.05, 10)
	require.NoError(t, err)
	assert.Less(t, wider[0].Low, d.Low, "additional comparisons widen the intervals")

	none, err := stat.ModeratedDifferences(nil, 0.05, 3)
	require.NoError(t, err)
	assert.Empty(t, none)
	idle := make([]stat.Pairs, 12)
	for i := range idle {
		idle[i] = stat.Pairs{Base: of(0, 0), Change: of(0, 0)}
	}
	still, err := stat.ModeratedDifferences(idle, 0.05, 12)
	require.NoError(t, err)
	assert.Zero(t, still[0].Low)
	assert.Zero(t, still[0].High)
}

func TestModeratedDifferencesRefuses(t *testing.T) {
	t.Parallel()
	one, two := make([]stat.Counted, 1), make([]stat.Counted, 2)
	bad := []stat.Counted{{Value: math.NaN()}, {}}
	s := golden.Cases(t, "testdata/moderated.golden")
	for name, of := range map[string][]stat.Pairs{
		"one pair":      {{Base: one, Change: one}},
		"no pairs":      {{Base: two, Change: one}},
		"other lengths": {{Base: two, Change: two}, {Base: make([]stat.Counted, 3), Change: make([]stat.Counted, 3)}},
		"not a number":  {{Base: two, Change: bad}},
	} {
		_, err := stat.ModeratedDifferences(of, 0.05, 9)
		s.Error(t, name, err)
	}
	_, err := stat.ModeratedDifferences(make([]stat.Pairs, 3), 0.05, 2)
	s.Error(t, "few comparisons", err)
}

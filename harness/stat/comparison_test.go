package stat_test

import (
	"fmt"
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

func TestMannWhitneyKnownValues(t *testing.T) {
	low, high := []float64{1, 2, 3}, []float64{4, 5, 6}
	got, err := stat.MannWhitney(low, high, 0.05)
	require.NoError(t, err)
	assert.InDelta(t, 0.1, got.P, 1e-12, "2 of the 20 ways to deal six ranks")
	assert.NotEmpty(t, got.Warnings, "three values per side cannot be significant")
	got, err = stat.MannWhitney([]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 0.05)
	require.NoError(t, err)
	assert.InDelta(t, 2.0/252, got.P, 1e-12)
	got, err = stat.MannWhitney([]float64{5, 5, 5}, []float64{5, 5, 5}, 0.05)
	require.NoError(t, err)
	assert.InDelta(t, 1, got.P, 0)
}

func TestMannWhitneyIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(finite(), 1, 12).Draw(t, "a")
		b := rapid.SliceOfN(finite(), 1, 12).Draw(t, "b")
		ab, err := stat.MannWhitney(a, b, 0.05)
		require.NoError(t, err)
		ba, err := stat.MannWhitney(b, a, 0.05)
		require.NoError(t, err)
		require.InDelta(t, ab.P, ba.P, 1e-9)
		require.Greater(t, ab.P, 0.0)
		require.LessOrEqual(t, ab.P, 1.0)
	})
}

func TestTestsRefuse(t *testing.T) {
	s := golden.Cases(t, "testdata/comparisons.golden")
	for _, bad := range [][]float64{nil, {math.NaN()}, {1, math.Inf(1)}} {
		_, err := stat.MannWhitney(bad, []float64{1}, 0.05)
		require.Error(t, err)
		_, err = stat.MannWhitney([]float64{1}, bad, 0.05)
		require.Error(t, err)
		_, err = stat.SignedRank(bad, 0.05)
		require.Error(t, err)
		_, err = stat.PairedRatio(bad, 10)
		require.Error(t, err)
		_, err = stat.UnpairedRatio(bad, []float64{1}, 10)
		require.Error(t, err)
		_, err = stat.LogRatios(bad, bad)
		require.Error(t, err)
		_, err = stat.StdDev(bad)
		require.Error(t, err)
	}
	_, err := stat.SignedRank(make([]float64, stat.PairsMax+1), 0.05)
	require.Error(t, err)
	_, err = stat.LogRatios([]float64{1, 2}, []float64{1})
	s.Error(t, "no pairs", err)
	_, err = stat.LogRatios([]float64{1})
	require.Error(t, err)
	for _, none := range []float64{0, -1} {
		_, err = stat.LogRatios([]float64{1}, []float64{none})
		s.Error(t, fmt.Sprint("a value of ", none), err)
		_, err = stat.UnpairedRatio([]float64{none}, []float64{1}, 10)
		require.Error(t, err)
	}
}

func TestSignedRankKnownValues(t *testing.T) {
	for _, c := range []struct {
		name  string
		pairs []float64
		p     float64
	}{
		{"all in one direction", []float64{1, 2, 3, 4, 5}, 2.0 / 32},
		{"the smallest in the other direction", []float64{-1, 2, 3, 4, 5}, 4.0 / 32},
		{"balanced", []float64{1, -1, 2, -2}, 1},
		{"nothing differs", []float64{0, 0, 0}, 1},
		{"ties share their rank", []float64{1, 1, 1}, 2.0 / 8},
		{"one pair is never significant", []float64{7}, 1},
	} {
		got, err := stat.SignedRank(c.pairs, 0.05)
		require.NoError(t, err)
		assert.InDelta(t, c.p, got.P, 1e-12, c.name)
		assert.Equal(t, len(c.pairs), got.N1)
	}
}

// The exact distribution equals that of all sign flips.
func TestSignedRankIsThatOfAllFlips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := rapid.SliceOfN(rapid.Map(rapid.IntRange(-6, 6), func(i int) float64 { return float64(i) }), 1, 10).Draw(t, "pairs")
		nonzero := slices.DeleteFunc(slices.Clone(pairs), func(v float64) bool { return v == 0 })
		rank := func(v float64) float64 { // mean rank by size
			below, same := 0, 0
			for _, o := range nonzero {
				if math.Abs(o) < math.Abs(v) {
					below++
				} else if math.Abs(o) == math.Abs(v) {
					same++
				}
			}
			return float64(below) + float64(same+1)/2
		}
		total, positive := 0.0, 0.0
		for _, v := range nonzero {
			total += rank(v)
			if v > 0 {
				positive += rank(v)
			}
		}
		extreme, hits := min(positive, total-positive), 0
		for flip := range uint(1) << len(nonzero) {
			sum := 0.0
			for i, v := range nonzero {
				if flip&(1<<i) != 0 {
					sum += rank(v)
				}
			}
			if sum <= extreme+1e-9 {
				hits++
			}
		}
		want := min(1, 2*float64(hits)/math.Exp2(float64(len(nonzero))))
		got, err := stat.SignedRank(pairs, 0.05)
		require.NoError(t, err)
		require.InDelta(t, want, got.P, 1e-9)
	})
}

func TestSignedRankProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := rapid.SliceOfN(rapid.Float64Range(-1, 1), 1, 40).Draw(t, "pairs")
		got, err := stat.SignedRank(pairs, 0.05)
		require.NoError(t, err)
		require.Greater(t, got.P, 0.0)
		require.LessOrEqual(t, got.P, 1.0)
		flipped := make([]float64, len(pairs))
		larger := make([]float64, len(pairs))
		for i, v := range pairs {
			flipped[i], larger[i] = -v, math.Abs(v)
		}
		other, err := stat.SignedRank(flipped, 0.05)
		require.NoError(t, err)
		require.InDelta(t, got.P, other.P, 1e-12, "the test must be symmetric")
		all, err := stat.SignedRank(larger, 0.05)
		require.NoError(t, err)
		require.LessOrEqual(t, all.P, got.P, "differences in one direction are the least balanced")
	})
}

// Without a difference the test is significant as often as its level, and not more.
func TestSignedRankKeepsItsLevel(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const trials, alpha = 4000, 0.05
	for _, n := range []int{6, 12, 18} {
		called := 0
		for range trials {
			pairs := make([]float64, n)
			for i := range pairs {
				pairs[i] = heavy(random)
			}
			got, err := stat.SignedRank(pairs, 0.05)
			require.NoError(t, err)
			if got.P <= alpha {
				called++
			}
		}
		assert.Less(t, float64(called)/trials, alpha+0.01, "n = %d", n)
	}
}

// heavy returns mostly small values with rare outliers.
func heavy(random *rand.Rand) float64 {
	if random.IntN(10) == 0 {
		return 0.4 * random.NormFloat64()
	}
	return 0.03 * random.NormFloat64()
}

func TestHolm(t *testing.T) {
	assert.Empty(t, stat.Holm(nil))
	got := stat.Holm([]float64{0.04, 0.01, 0.03})
	for i, want := range []float64{0.06, 0.03, 0.06} {
		assert.InDelta(t, want, got[i], 1e-12)
	}
	assert.Equal(t, []float64{1, 1}, stat.Holm([]float64{math.NaN(), -1}), "an invalid probability is not significant")
	rapid.Check(t, func(t *rapid.T) {
		ps := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 12).Draw(t, "ps")
		corrected := stat.Holm(ps)
		for i, p := range ps {
			require.GreaterOrEqual(t, corrected[i], p)
			require.LessOrEqual(t, corrected[i], min(1, float64(len(ps))*p)+1e-12, "at most Bonferroni's correction")
			for k, other := range ps {
				if p < other {
					require.LessOrEqual(t, corrected[i], corrected[k], "the order is preserved")
				}
			}
		}
	})
}

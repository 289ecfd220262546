package result_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

// turns returns alternating rounds of two points at the given rates, followed by a profiled one.
func turns(first, second []float64) []result.Round {
	var rounds []result.Round
	add := func(point int, rate float64) {
		rounds = append(rounds, result.Round{Number: len(rounds) + 1, Point: point, Metrics: map[string]float64{result.CyclesPerS: rate}})
	}
	for i := range first {
		add(1, first[i])
		if i < len(second) {
			add(2, second[i])
		}
	}
	add(1, 1e9)
	rounds[len(rounds)-1].Profiled = true
	return rounds
}

// A slow host in one turn affects both rounds of the turn, but not their ratio.
func TestRateCostsAreOfEachTurn(t *testing.T) {
	costs, err := result.RateCosts(turns([]float64{300, 30, 300}, []float64{100, 10, 50}), []int{1, 1})
	require.NoError(t, err)
	assert.Equal(t, result.Metric{Median: 1, Low: 1, High: 1, N: 3, Unit: "ratio"}, costs[1])
	assert.Equal(t, result.Metric{Median: 3, Low: 3, High: 6, N: 3, Unit: "ratio"}, costs[2], "not the ratio of the medians, which is 6")

	costs, err = result.RateCosts(turns([]float64{300, 30, 300}, []float64{100, 10, 50}), []int{2, 2})
	require.NoError(t, err)
	assert.InDelta(t, 1./3, costs[1].Median, 1e-9)

	costs, err = result.RateCosts(turns([]float64{300, 30, 300}, []float64{100}), []int{1, 1})
	require.NoError(t, err)
	assert.Equal(t, 1, costs[2].N, "a run that broke off has only its complete turns")
}

func TestRateCostsThatThereAreNot(t *testing.T) {
	s := golden.Cases(t, "testdata/ratecosts.golden")
	costs, err := result.RateCosts(turns([]float64{300, 300}, []float64{100, 0}), []int{1, 1, 1})
	s.Error(t, "no value and no round", err)
	assert.Len(t, costs, 1)
}

// A point with a constant fraction of the first one's rate has its inverse as cost, however both
// vary.
func TestRateCostsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.SliceOfN(rapid.Float64Range(1, 1e6), 1, 20).Draw(t, "first")
		part := rapid.Float64Range(0.01, 1).Draw(t, "part")
		second := make([]float64, len(first))
		for i := range first {
			second[i] = first[i] * part
		}
		costs, err := result.RateCosts(turns(first, second), []int{1, 1})
		require.NoError(t, err)
		for _, v := range []float64{costs[2].Median, costs[2].Low, costs[2].High} {
			require.InEpsilon(t, 1/part, v, 1e-9)
		}
	})
}

// Any metric of two points has a ratio, unless a round lacks the metric.
func TestTurnRatio(t *testing.T) {
	rounds := turns([]float64{300, 30, 300}, []float64{100, 10, 50})
	m, err := result.TurnRatio(rounds, result.CyclesPerS, 2, 1)
	require.NoError(t, err)
	assert.Equal(t, 3, m.N)
	assert.InDelta(t, 1./3, m.Median, 1e-9)
	assert.InDelta(t, 1./6, m.Low, 1e-9)
	s := golden.Cases(t, "testdata/turnratios.golden")
	_, err = result.TurnRatio(rounds, result.ServerCPUUsPerCycle, 1, 2)
	s.Error(t, "no value", err)
	_, err = result.TurnRatio(rounds, result.CyclesPerS, 1, 3)
	s.Error(t, "no round", err)
}

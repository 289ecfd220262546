package result_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

func overheadRounds() []result.Round {
	round := func(profiled bool, rate, cpu float64) result.Round {
		return result.Round{Verdict: result.Pass, Profiled: profiled, Metrics: map[string]float64{result.CyclesPerS: rate, result.CPUUsPerCycle: cpu}}
	}
	// The host becomes twice as slow during the run, and profiling costs a tenth.
	return []result.Round{
		round(false, 1000, 10), round(true, 900, 11), round(false, 1000, 10), round(false, 500, 20), round(true, 450, 22),
	}
}

func TestProfilingOverheads(t *testing.T) {
	rounds := overheadRounds()
	found, err := result.ProfilingOverheads(rounds, true)
	require.NoError(t, err)
	rate := found[result.ProfilingOverheadRatio]
	assert.InDelta(t, 1/0.9, rate.Median, 1e-9)
	assert.InDelta(t, 1/0.9, rate.Low, 1e-9, "the slow host affects both rounds")
	assert.InDelta(t, 1/0.9, rate.High, 1e-9)
	assert.Equal(t, 2, rate.N)
	assert.Equal(t, "ratio", rate.Unit)
	assert.InDelta(t, 1.1, found[result.ProfilingCPURatio].Median, 1e-9)

	found, err = result.ProfilingOverheads(rounds, false)
	require.NoError(t, err)
	assert.NotContains(t, found, result.ProfilingOverheadRatio, "an offered rate does not show the cost of profiling")
	assert.Contains(t, found, result.ProfilingCPURatio)
}

func TestProfilingOverheadsThatThereAreNot(t *testing.T) {
	rounds := overheadRounds()
	found, err := result.ProfilingOverheads(rounds[2:4], true)
	require.NoError(t, err)
	assert.Empty(t, found, "no round was profiled")
	found, err = result.ProfilingOverheads(rounds[1:2], true)
	require.NoError(t, err)
	assert.Empty(t, found, "no timed round to compare with")
	rounds[0].Verdict, rounds[4].Metrics[result.CyclesPerS] = result.Invalid, 0
	rounds[2].Metrics[result.CyclesPerS] = math.NaN()
	found, err = result.ProfilingOverheads(rounds, true)
	require.NoError(t, err)
	rate := found[result.ProfilingOverheadRatio]
	assert.Equal(t, 1, rate.N, "a round without cycles has no ratio")
	assert.InDelta(t, 500/900., rate.Median, 1e-9, "invalid neighbours are skipped")
}

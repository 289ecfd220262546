package stat_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/stat"
)

// A constant figure has no drift and no error: rounding must not cause a drift.
func TestFindDriftOfAConstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1e-9, 1e12)).Draw(t, "value")
		values := make([]float64, rapid.IntRange(stat.DriftMinN, 200).Draw(t, "n"))
		for i := range values {
			values[i] = value
		}
		d, err := stat.FindDrift(values)
		require.NoError(t, err)
		require.Zero(t, d.Center)
		require.Zero(t, d.StdErr)
		require.Zero(t, d.Upper(0.05))
		require.InDelta(t, 1, d.PAbove(0), 0, "no rise")
	})
}

// A rise has the same figures as the reversed loss, with the opposite sign.
func TestFindDriftIsADecayBackwards(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	series := [][]float64{tenMinutes(random, 0.05, 0.5, 20), tenMinutes(random, 0.02, 0.5, 20)}
	drift, err := stat.FindDrift(series...)
	require.NoError(t, err)
	decay, err := stat.FindDecay(series...)
	require.NoError(t, err)
	assert.InDelta(t, -drift.Center, decay.Percent, 0)
	assert.InDelta(t, -drift.Upper(0.05), decay.Low, 1e-12)
	assert.InDelta(t, -drift.Lower(0.05), decay.High, 1e-12)
	assert.Equal(t, drift.Block, decay.Block)
	assert.Equal(t, 16, drift.Degrees)
}

// A step from zero, such as the first leaked descriptor, is a rise and not an error.
func TestFindDriftOfAStep(t *testing.T) {
	values := make([]float64, 100)
	for i := 50; i < 100; i++ {
		values[i] = 1
	}
	d, err := stat.FindDrift(values)
	require.NoError(t, err)
	assert.Greater(t, d.Center, 100.0)
}

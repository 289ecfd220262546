package plots

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTicks(t *testing.T) {
	var got []string
	for _, tick := range Ticks(167_000) {
		got = append(got, tick.Label)
	}
	assert.Equal(t, []string{"0", "50,000", "100,000", "150,000"}, got)
	assert.Len(t, Ticks(math.NaN()), 1)
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(1e-3, 1e12).Draw(t, "limit")
		ticks := Ticks(limit)
		require.GreaterOrEqual(t, len(ticks), 3)
		require.LessOrEqual(t, len(ticks), 11)
		require.Zero(t, ticks[0].Value)
		require.LessOrEqual(t, ticks[len(ticks)-1].Value, limit)
	})
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(1e-6, 1e3).Draw(t, "low")
		high := low * rapid.Float64Range(10, 1e9).Draw(t, "decades")
		labelled := 0
		for _, tick := range LogTicks(low, high) {
			require.GreaterOrEqual(t, tick.Value, low*(1-1e-6))
			require.LessOrEqual(t, tick.Value, high*(1+1e-6))
			if tick.Label != "" {
				labelled++
			}
		}
		require.NotZero(t, labelled)
		require.LessOrEqual(t, labelled, 16)
	})
}

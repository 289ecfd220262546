package report

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCode(t *testing.T) {
	assert.Equal(t, "`a b`", code("a\n b"))
	assert.Equal(t, "`` a`b ``", code("a`b"))
	assert.Equal(t, "``` a``b`c ```", code("a``b`c"))
	assert.Empty(t, code(" "))
}

func TestTicks(t *testing.T) {
	var got []string
	for _, tick := range fromZero(167_000) {
		got = append(got, tick.Label)
	}
	assert.Equal(t, []string{"0", "50,000", "100,000", "150,000"}, got)
	assert.Len(t, fromZero(math.NaN()), 1)
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(1e-3, 1e12).Draw(t, "limit")
		ticks := fromZero(limit)
		require.GreaterOrEqual(t, len(ticks), 3)
		require.LessOrEqual(t, len(ticks), 11)
		require.Zero(t, ticks[0].Value)
		require.LessOrEqual(t, ticks[len(ticks)-1].Value, limit)
	})
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(1e-6, 1e3).Draw(t, "low")
		high := low * rapid.Float64Range(10, 1e9).Draw(t, "decades")
		labelled := 0
		for _, tick := range logTicks(low, high) {
			require.GreaterOrEqual(t, tick.Value, low*(1-1e-6))
			require.LessOrEqual(t, tick.Value, high*(1+1e-6))
			if tick.Label != "" {
				labelled++
			}
		}
		require.NotZero(t, labelled)
		require.LessOrEqual(t, labelled, 16)
	})
	var names []string
	for _, tick := range nineTicks(4.2) {
		names = append(names, tick.Label)
	}
	assert.Equal(t, []string{"0", "50", "90", "99", "99.9", "99.99"}, names)
}

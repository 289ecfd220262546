package stat

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEndToStart(t *testing.T) {
	assert.Zero(t, EndToStart(0))
	assert.InDelta(t, 100*(102.0/98-1), EndToStart(4), 1e-9)
	assert.InDelta(t, 100*(24.0/176-1), EndToStart(-152), 1e-9)
	assert.InDelta(t, -100, EndToStart(-350), 1e-9)
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(-1e6, 1e6).Draw(t, "a"), rapid.Float64Range(-1e6, 1e6).Draw(t, "b")
		require.GreaterOrEqual(t, EndToStart(a), -100.0)
		require.LessOrEqual(t, EndToStart(min(a, b)), EndToStart(max(a, b)))
	})
}

// A rate that falls to almost nothing falls by less than 100 %.
func TestATrendFallsByAtMostAll(t *testing.T) {
	values := make([]float64, 20)
	for i := range values {
		values[i] = max(1, 100-100*float64(i)/7)
	}
	values[19] = 40
	trend, err := FindTrend(values[:12])
	require.NoError(t, err)
	assert.GreaterOrEqual(t, trend.Percent, -100.0)
	assert.Less(t, trend.Percent, -90.0)
}

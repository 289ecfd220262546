package stat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// For five zeros and five ones the only split has 25 distances of 1 between the sides and none
// within: 25/10 · 2 · 1.
func TestSplitByHand(t *testing.T) {
	segments := segmentsOf([]float64{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}, []int{0, 10})
	at, divergence := clearest(segments)
	assert.Equal(t, 5, at)
	assert.InDelta(t, 5, divergence, 1e-12)
}

// The split from the sums equals the one from the definition.
func TestSplitIsThatOfTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-100, 100), 2*ChangeMinSide, 30).Draw(t, "values")
		best := 0.0
		for m := ChangeMinSide; m <= len(values)-ChangeMinSide; m++ {
			best = max(best, defined(values[:m], values[m:]))
		}
		at, divergence := clearest(segmentsOf(values, []int{0, len(values)}))
		require.InDelta(t, best, divergence, 1e-9*(1+best))
		if divergence > 1e-9 {
			require.InDelta(t, best, defined(values[:at], values[at:]), 1e-9*(1+best))
		}
	})
}

// defined returns the divergence of two sides by its definition.
func defined(x, y []float64) float64 {
	mean := func(a, b []float64, same bool) float64 {
		sum, pairs := 0.0, 0.0
		for i, v := range a {
			for j, w := range b {
				if same && i == j {
					continue
				}
				sum += math.Abs(v - w)
				pairs++
			}
		}
		return sum / pairs
	}
	m, n := float64(len(x)), float64(len(y))
	return m * n / (m + n) * (2*mean(x, y, false) - mean(x, x, true) - mean(y, y, true))
}

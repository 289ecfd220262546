package stat

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A resample equals the slope of the series of its blocks, for any residuals and a truncated last
// block.
func TestAResampleIsTheSlopeOfItsBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e6), DriftMinN, 300).Draw(t, "values")
		line, err := fitLine(values)
		require.NoError(t, err)
		seed := rapid.Uint64().Draw(t, "seed")
		n, random := len(values), rand.New(rand.NewPCG(seed, 0))
		var drawn []float64
		for len(drawn) < n {
			from := random.IntN(n - line.block() + 1)
			drawn = append(drawn, line.residuals[from:from+line.block()]...)
		}
		want := line.percent(slopeOf(drawn[:n]))
		require.InDelta(t, want, line.resample(rand.New(rand.NewPCG(seed, 0))), 1e-9)
	})
}

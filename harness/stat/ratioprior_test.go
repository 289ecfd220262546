package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// Pairs that agree by chance do not make a ratio certain, and many noisy pairs outweigh the prior.
func TestAPriorModeratesTheNoise(t *testing.T) {
	prior := NoisePrior{SD: 0.03, Degrees: 6}
	equal, err := prior.Moderate([]float64{-0.02, -0.02})
	require.NoError(t, err)
	assert.InDelta(t, math.Exp(-0.02), equal.Center(), 1e-12)
	assert.Greater(t, equal.Upper(0.001), 1.05, "two pairs that agree are not certain")

	noisy := make([]float64, 100)
	for i := range noisy {
		noisy[i] = 0.2 * float64(i%2*2-1)
	}
	wide, err := prior.Moderate(noisy)
	require.NoError(t, err)
	assert.InDelta(t, 0.2, math.Log(wide.Upper(0.025))/1.983*10, 0.01, "the noise of the pairs outweighs the prior")
	assert.InDelta(t, 1, wide.Lower(0.025)*wide.Upper(0.025), 1e-9)
}

// The bounds hold as often as stated if the prior is correct.
func TestModeratedBoundsHold(t *testing.T) {
	const trials, sd, truth = 20_000, 0.04, 0.95
	source := rand.New(rand.NewPCG(1, 2))
	prior := NoisePrior{SD: sd, Degrees: 6}
	for n := 1; n <= 4; n++ {
		above := 0
		for range trials {
			logs := make([]float64, n)
			for i := range logs {
				logs[i] = math.Log(truth) + sd*source.NormFloat64()
			}
			r, err := prior.Moderate(logs)
			require.NoError(t, err)
			if r.Lower(0.05) > truth {
				above++
			}
		}
		assert.Less(t, float64(above)/trials, 0.055, "%d pairs", n)
		assert.Positive(t, above)
	}
}

func TestModerateRefuses(t *testing.T) {
	s := golden.Cases(t, "testdata/priors.golden")
	_, err := NoisePrior{SD: 0.03, Degrees: 6}.Moderate(nil)
	s.Error(t, "no pair", err)
	_, err = NoisePrior{SD: 0.03, Degrees: 6}.Moderate([]float64{math.Inf(-1)})
	s.Error(t, "infinite", err)
	_, err = NoisePrior{}.Moderate([]float64{0})
	s.Error(t, "no prior", err)
}

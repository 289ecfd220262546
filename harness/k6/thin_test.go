package k6

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// drawn returns the samples of values at a constant rate for some seconds.
func drawn(t *thinning, perS, seconds int) (samples []float64) {
	began := time.Unix(1000, 0)
	for i := range perS * seconds {
		value := math.Mod(float64(i)*math.Phi, 1)
		if t.draws(began.Add(time.Duration(i)*time.Second/time.Duration(perS)), value) {
			samples = append(samples, value)
		}
	}
	return samples
}

func TestATrendHasABoundedNumberOfSamples(t *testing.T) {
	const seconds = 60
	for name, c := range map[string]struct {
		limit       float64
		perS        int
		least, most int
	}{
		"fewer than it may have": {100, 99, 99 * seconds, 99 * seconds},
		"as many":                {100, 100, 100 * seconds, 100 * seconds},
		"more":                   {100, 250, 90 * seconds, 115 * seconds},
		"many more":              {100, 20_000, 90 * seconds, 130 * seconds},
		"all":                    {0, 1_000, 1_000 * seconds, 1_000 * seconds},
	} {
		t.Run(name, func(t *testing.T) {
			samples := drawn(&thinning{perS: c.limit}, c.perS, seconds)
			assert.GreaterOrEqual(t, len(samples), c.least)
			assert.LessOrEqual(t, len(samples), c.most)
			slices.Sort(samples)
			for _, p := range []float64{0.1, 0.5, 0.9, 0.99} {
				assert.InDelta(t, p, samples[int(p*float64(len(samples)))], 0.03, "percentiles approximate those of all values")
			}
			assert.Greater(t, samples[len(samples)-1], 0.999, "the largest value is a sample")
		})
	}
}

// A sudden rate is bounded in its first second too, and the first values after a pause are all
// selected.
func TestARateThatJumps(t *testing.T) {
	thin := &thinning{perS: 100}
	assert.Less(t, len(drawn(thin, 50_000, 1)), 900)
	assert.True(t, thin.draws(time.Unix(2000, 0), 0))
}

func TestHowManySamplesATrendHas(t *testing.T) {
	for text, want := range map[string]float64{"": samplesPerSDefault, "0": 0, "2500": 2500} {
		n, err := samplesPerS(func(string) (string, bool) { return text, true })
		require.NoError(t, err)
		assert.Equal(t, want, n)
	}
	s := read(t, New(), map[string]string{samplesEnv: "many"}, ``)
	golden.Cases(t, "testdata/samples.golden").Equal(t, "not a number", s.fails(`queue.connect()`))
}

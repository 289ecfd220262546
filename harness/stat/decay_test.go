package stat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/stat"
)

// tenMinutes returns a series of 300 rates around 1,000 that fall by loss, a fraction of 1,000,
// from start to end. Their noise is autocorrelated by phi between neighbours and has a standard
// deviation of sd.
func tenMinutes(random *rand.Rand, loss, phi, sd float64) []float64 {
	values := make([]float64, 300)
	noise := random.NormFloat64()
	for i := range values {
		values[i] = 1000 + sd*noise - 1000*loss*(float64(i)/299-0.5)
		noise = phi*noise + math.Sqrt(1-phi*phi)*random.NormFloat64()
	}
	return values
}

// A bound is wrong about as often as its level, and with strong dependence (noise that lasts for 20
// s of ten minutes) not much more often.
func TestFindDecayIsWrongAsOftenAsItSays(t *testing.T) {
	trials := longtest.Count(t, 100, 600)
	for _, c := range []struct{ phi, most float64 }{{0, 0.07}, {0.5, 0.07}, {0.8, 0.08}, {0.9, 0.1}} {
		for _, loss := range []float64{0, 0.05} {
			random := rand.New(rand.NewPCG(5, uint64(100*c.phi)))
			above, below := 0, 0
			for range trials {
				d, err := stat.FindDecay(tenMinutes(random, loss, c.phi, 30))
				require.NoError(t, err)
				if d.Low > 100*loss {
					above++
				}
				if d.High < 100*loss {
					below++
				}
			}
			assert.LessOrEqual(t, float64(above), c.most*float64(trials), "lower bound above a loss of %v, phi %v", loss, c.phi)
			assert.LessOrEqual(t, float64(below), c.most*float64(trials), "upper bound below a loss of %v, phi %v", loss, c.phi)
			assert.GreaterOrEqual(t, above+below, trials/100, "the bounds are far too wide, phi %v", c.phi)
		}
	}
}

// A decay of 5 % over the run is detected if the noise allows it, and a run without decay excludes
// 2 %.
func TestFindDecayCallsFivePercent(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	const trials = 200
	called, excluded, passed := 0, 0, 0
	for range trials {
		d, err := stat.FindDecay(tenMinutes(random, 0.05, 0.5, 20))
		require.NoError(t, err)
		if d.Low > 0 && d.High > 2 {
			called++
		}
		if d.High <= 2 {
			passed++
		}
		d, err = stat.FindDecay(tenMinutes(random, 0, 0.5, 20))
		require.NoError(t, err)
		if d.High <= 2 {
			excluded++
		}
	}
	assert.GreaterOrEqual(t, called, trials*99/100)
	assert.Zero(t, passed)
	assert.GreaterOrEqual(t, excluded, trials*3/4)
}

func TestFindDecayOfAStraightLine(t *testing.T) {
	values := make([]float64, stat.DriftMinN)
	for i := range values {
		// The line falls by 60 over the whole run; the mean is 1,000.
		values[i] = 1030 - (float64(i) + 0.5)
	}
	d, err := stat.FindDecay(values)
	require.NoError(t, err)
	assert.InDelta(t, 6, d.Percent, 1e-9)
	assert.InDelta(t, 6, d.Low, 1e-6)
	assert.InDelta(t, 6, d.High, 1e-6)
	assert.Equal(t, stat.DriftMinN/stat.DriftBlocks, d.Block)
	again, err := stat.FindDecay(values, values)
	require.NoError(t, err)
	assert.InDelta(t, 6, again.Percent, 1e-9, "two rounds with the same loss")
}

// Dependent values contain less information than independent ones with the same spread, so the
// bounds are wider.
func TestFindDecayKeepsDependence(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	width := func(phi float64) (sum float64) {
		for range 30 {
			d, err := stat.FindDecay(tenMinutes(random, 0, phi, 20))
			require.NoError(t, err)
			sum += d.High - d.Low
		}
		return sum
	}
	assert.Greater(t, width(0.8), 2*width(0))
}

func TestFindDecayRefuses(t *testing.T) {
	with := func(v float64) []float64 {
		values := make([]float64, stat.DriftMinN)
		for i := range values {
			values[i] = 1
		}
		values[3] = v
		return values
	}
	s := golden.Cases(t, "testdata/decays.golden")
	for name, series := range map[string][][]float64{
		"none":         {},
		"few":          {make([]float64, stat.DriftMinN-1)},
		"many":         {make([]float64, stat.DriftMaxN+1)},
		"zero":         {make([]float64, stat.DriftMinN)},
		"not a number": {with(math.NaN())},
		"infinite":     {with(math.Inf(1))},
		"below zero":   {with(-1)},
		"an empty one": {with(1), nil},
	} {
		d, err := stat.FindDecay(series...)
		s.Error(t, name, err)
		assert.Zero(t, d)
	}
}

func TestFindDecayProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(1, 1e6), stat.DriftMinN, 80).Draw(t, "values")
		d, err := stat.FindDecay(values)
		require.NoError(t, err)
		require.LessOrEqual(t, d.Low, d.Percent)
		require.GreaterOrEqual(t, d.High, d.Percent)
		same, err := stat.FindDecay(values)
		require.NoError(t, err)
		require.Equal(t, d, same, "FindDecay must be deterministic")
		scaled, backwards := make([]float64, len(values)), make([]float64, len(values))
		for i, v := range values {
			scaled[i], backwards[len(values)-1-i] = 4*v, v
		}
		other, err := stat.FindDecay(scaled)
		require.NoError(t, err)
		require.InDelta(t, d.High, other.High, 1e-6)
		other, err = stat.FindDecay(backwards)
		require.NoError(t, err)
		require.InDelta(t, -d.Percent, other.Percent, 1e-6)
	})
}

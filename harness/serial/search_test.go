package serial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// simulated is a server that takes baseNs per request up to the work kneeNs, and proportionally
// longer above it. Each pair has noise, and one in a number of pairs stalls.
type simulated struct {
	baseNs, kneeNs float64
	stepNs         float64 // work is a whole number of steps
	noise          float64
	stallIn        int
	random         *rand.Rand
	asked          []float64
	err            error
}

func (s *simulated) pair(_ context.Context, workNs float64) (inForceNs, slowdown float64, err error) {
	s.asked = append(s.asked, workNs)
	workNs = s.stepNs * math.Round(workNs/s.stepNs)
	slowdown = 1 + max(0, workNs-s.kneeNs)/s.baseNs
	slowdown *= math.Exp(s.noise * s.random.NormFloat64())
	if s.stallIn > 0 && s.random.IntN(s.stallIn) == 0 {
		slowdown *= math.Exp(2 * (s.random.Float64() - 0.5))
	}
	return workNs, slowdown, s.err
}

// budget returns the work at which the simulated server keeps keptShare of its rate.
func (s *simulated) budget() float64 { return s.kneeNs + (slowdownMost-1)*s.baseNs }

func searching(s *simulated, pairsMax int) *search {
	return &search{
		pairs: s, baseNs: s.baseNs, pairsMax: pairsMax, over: func() bool { return false }, order: rand.New(rand.NewPCG(1, 2)),
	}
}

// Wherever the knee is, the search finds the budget within 5 %, with noise of 5 % per pair, and
// even if the server has no knee.
func TestSearchFindsTheBudget(t *testing.T) {
	const seeds = 4
	for _, baseNs := range []float64{1_000, 50_000} {
		for _, knee := range []float64{0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 0.95} {
			covered := 0
			for seed := range uint64(seeds) {
				s := &simulated{baseNs: baseNs, kneeNs: knee * baseNs, stepNs: 1.7, noise: 0.05, stallIn: 30, random: rand.New(rand.NewPCG(seed, 7))}
				found, err := searching(s, 20_000).run(t.Context())
				require.NoError(t, err)
				name := fmt.Sprintf("base %v, knee %v, seed %d: %+v", baseNs, knee, seed, *found)
				assert.InEpsilon(t, s.budget(), found.WorkNs, 0.05, name)
				assert.Empty(t, found.Unsettled, name)
				assert.Equal(t, len(s.asked), found.Pairs, name)
				if found.LowNs <= s.budget() && s.budget() <= found.HighNs {
					covered++
				}
			}
			assert.GreaterOrEqual(t, covered, seeds/2, "intervals that contain the budget: base %v, knee %v", baseNs, knee)
		}
	}
}

// Noise does not bias the budget. A mean of slowdowns, rather than of their logarithms, would make
// it smaller.
func TestSearchIsNotBiasedByNoise(t *testing.T) {
	s := &simulated{baseNs: 50_000, stepNs: 1.7, noise: 0.12, random: rand.New(rand.NewPCG(1, 7))}
	found, err := searching(s, 20_000).run(t.Context())
	require.NoError(t, err)
	assert.InEpsilon(t, s.budget(), found.WorkNs, 0.05)
	assert.InEpsilon(t, s.noise, found.PairNoise, 0.1)
}

// The bisection leaves the budget between two works that a fit can span.
func TestBisectionBracketsTheBudget(t *testing.T) {
	for _, knee := range []float64{0, 0.1, 0.4, 0.95} {
		s := &simulated{baseNs: 50_000, kneeNs: knee * 50_000, stepNs: 1.7, noise: 0.001, random: rand.New(rand.NewPCG(1, 7))}
		low, high, err := searching(s, 20_000).bisect(t.Context())
		require.NoError(t, err)
		assert.LessOrEqual(t, low, s.budget())
		assert.GreaterOrEqual(t, high, s.budget())
		assert.LessOrEqual(t, high, low*bracketRatio)
	}
}

func TestSearchIsBounded(t *testing.T) {
	hopeless := func() *simulated {
		return &simulated{baseNs: 1_000, kneeNs: 0, stepNs: 1, noise: 2, random: rand.New(rand.NewPCG(1, 7))}
	}
	t.Run("in pairs", func(t *testing.T) {
		s := hopeless()
		found, err := searching(s, 500).run(t.Context())
		require.NoError(t, err)
		assert.LessOrEqual(t, len(s.asked), 500+len(roundWorks)*roundPairs)
		assert.Contains(t, found.Unsettled, "pairs was reached")
	})
	t.Run("in time", func(t *testing.T) {
		s := hopeless()
		search := searching(s, 1_000_000)
		search.over = func() bool { return len(s.asked) > 300 }
		found, err := search.run(t.Context())
		require.NoError(t, err)
		assert.LessOrEqual(t, len(s.asked), 300+stepPairsMax+len(roundWorks)*roundPairs)
		assert.Equal(t, "the time for the search was used up", found.Unsettled)
		assert.Less(t, found.LowNs, found.HighNs, "the interval is still reported")
	})
	t.Run("in work", func(t *testing.T) {
		for _, slowdown := range []float64{1, 3} { // for any work
			s := &simulated{baseNs: 1_000, kneeNs: math.Inf(1), stepNs: 1, noise: 0.01, random: rand.New(rand.NewPCG(1, 7))}
			if slowdown > 1 {
				s.kneeNs = -2_000
			}
			found, err := searching(s, 3_000).run(t.Context())
			require.NoError(t, err)
			for _, work := range append(s.asked, found.WorkNs) {
				assert.GreaterOrEqual(t, work, 0.9*s.baseNs*searchLow/fitReach)
				assert.LessOrEqual(t, work, 1.1*s.baseNs*searchHigh*fitReach)
			}
		}
	})
}

func TestSearchEndsWithAnError(t *testing.T) {
	s := &simulated{baseNs: 1_000, stepNs: 1, random: rand.New(rand.NewPCG(1, 7)), err: errors.New("the server has gone")}
	_, err := searching(s, 1_000).run(t.Context())
	require.ErrorIs(t, err, s.err)
	assert.Len(t, s.asked, 1)
}

package serial

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// pairs measures pairs of slices.
type pairs interface {
	// pair measures two slices in random order: one without work, and one with approximately the
	// given work per request. It returns the effective work and the slowdown. The slowdown is the
	// time of a request with work divided by the time of a request without work.
	pair(ctx context.Context, workNs float64) (inForceNs, slowdown float64, err error)
}

const (
	// searchLow and searchHigh are the limits of the search, as multiples of the time of a request
	// without work. A request takes at least the time of its work in the deciding goroutine.
	// Therefore no budget exceeds slowdownMost times the time of a request without work. The search
	// starts far below this value and ends slightly above it.
	searchLow, searchHigh = 1.0 / 250, slopeMost * slowdownMost
	// slopeMost bounds the additional time of a request per unit of work. It is above 1 because the
	// measured time without work is not exact.
	slopeMost = 1.25
	// The bisection ends when the ratio of the two works on either side of the budget is at most
	// bracketRatio.
	bracketRatio = fitReach
	// A step of the bisection measures stepPairs pairs. It continues in steps of this size, up to
	// stepPairsMax pairs, until a test at the significance level stepAlpha decides whether the work
	// is above the budget.
	stepPairs, stepPairsMax = 6, 24
	stepAlpha               = 0.01
	// roundPairs is the number of pairs for each work in a round of the refinement. roundsMin is
	// the smallest number of rounds. It prevents the refinement from ending early by chance.
	roundPairs = 8
	roundsMin  = 4
	// The search ends when half of the interval's width is at most this fraction of the budget.
	settledWidth = 0.025
	// trimmed is the fraction of pairs that is ignored at each end of the distribution. A stall of
	// the host can slow one slice of a pair by a large factor.
	trimmed = 0.2
)

// roundWorks are the works of a round of the refinement, as multiples of the current estimate of
// the budget.
var roundWorks = []float64{0.92, 1, 1.08}

// search finds a serial budget.
type search struct {
	pairs    pairs
	baseNs   float64 // time between two answers without work, in nanoseconds
	pairsMax int
	over     func() bool // reports whether the time limit of the search has passed
	order    *rand.Rand

	done     int // number of pairs measured so far
	observed []observation
}

// run searches for the budget. It ends when the interval is narrow enough, when pairsMax pairs are
// measured, or when the time limit has passed.
func (s *search) run(ctx context.Context) (*result.SerialBudget, error) {
	low, high, err := s.bisect(ctx)
	if err != nil {
		return nil, err
	}
	least, most := s.baseNs*searchLow/fitReach, s.baseNs*searchHigh*fitReach
	found := estimate{work: math.Sqrt(low * high)}
	unsettled := ""
	for rounds := 1; ; rounds++ {
		if err := s.round(ctx, found.work); err != nil {
			return nil, err
		}
		found = fit(s.observed, found.work, slopeMost/s.baseNs)
		found.work = min(max(found.work, least), most)
		if rounds >= roundsMin && found.halfWidth() <= settledWidth {
			break
		}
		if s.done >= s.pairsMax {
			unsettled = fmt.Sprintf("the bound of %d pairs was reached", s.done)
		} else if s.over() {
			unsettled = "the time for the search was used up"
		}
		if unsettled != "" {
			break
		}
	}
	return &result.SerialBudget{
		WorkNs: found.work, LowNs: found.low, HighNs: found.high, Pairs: s.done, PairNoise: math.Sqrt(found.variance), BaseNs: s.baseNs, Unsettled: unsettled,
	}, nil
}

// bisect returns two works. The budget is probably between them. They differ by at most the factor
// bracketRatio, unless the search had to end early.
func (s *search) bisect(ctx context.Context) (low, high float64, err error) {
	low, high = s.baseNs*searchLow, s.baseNs*searchHigh
	for high > low*bracketRatio && !s.over() && s.done < s.pairsMax {
		middle := math.Sqrt(low * high)
		above, err := s.above(ctx, middle)
		switch {
		case err != nil:
			return 0, 0, err
		case above:
			high = middle
		default:
			low = middle
		}
	}
	return low, high, nil
}

func (s *search) above(ctx context.Context, work float64) (bool, error) {
	var slowdowns []float64 // logarithms of the slowdowns
	for {
		for range stepPairs {
			inForce, slowdown, err := s.one(ctx, work)
			if err != nil {
				return false, err
			}
			work, slowdowns = inForce, append(slowdowns, slowdown)
		}
		mean, err := stat.TrimmedMean(slowdowns, trimmed)
		if err != nil {
			return false, err
		}
		p := mean.PAbove(math.Log(slowdownMost))
		if p < stepAlpha || p > 1-stepAlpha || len(slowdowns) >= stepPairsMax {
			s.observe(work, mean, len(slowdowns))
			return mean.Center > math.Log(slowdownMost), nil
		}
	}
}

// round measures pairs in random order. Their works are the multiples of middle in roundWorks.
func (s *search) round(ctx context.Context, middle float64) error {
	works, slowdowns := make([]float64, len(roundWorks)), make([][]float64, len(roundWorks))
	for range roundPairs {
		for _, i := range s.order.Perm(len(roundWorks)) {
			inForce, slowdown, err := s.one(ctx, middle*roundWorks[i])
			if err != nil {
				return err
			}
			works[i], slowdowns[i] = inForce, append(slowdowns[i], slowdown)
		}
	}
	for i, work := range works {
		mean, err := stat.TrimmedMean(slowdowns[i], trimmed)
		if err != nil {
			return err
		}
		s.observe(work, mean, roundPairs)
	}
	return nil
}

// observe adds the pairs with one amount of work. mean is the mean of the logarithms of their
// slowdowns. A mean of the slowdowns would be too high, because the noise of the slice without work
// is in the denominator.
func (s *search) observe(work float64, mean stat.Mean, pairs int) {
	s.observed = append(s.observed, observation{
		work: work, slowdown: math.Exp(mean.Center), pairs: float64(pairs), variance: float64(pairs) * mean.StdErr * mean.StdErr,
	})
}

func (s *search) one(ctx context.Context, work float64) (inForce, logSlowdown float64, err error) {
	s.done++
	inForce, slowdown, err := s.pairs.pair(ctx, work)
	return inForce, math.Log(slowdown), err
}

package stat

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// ChangeMinSide is the minimum number of values on each side of a change point. A side ends at
	// the nearest other change point or at the end of the series. A recent change is therefore
	// found only once ChangeMinSide values have been measured after it.
	ChangeMinSide = 5
	// ChangeMinN is the least number of values for FindChangePoints. With ten values, two of the
	// 252 ways to split them into halves are as extreme as the clearest step. Its P is therefore
	// 0.008, too close to ChangeAlpha for a test by ChangeShuffles shuffles. With twelve values the
	// P is at most 0.0025.
	ChangeMinN = 12
	// ChangeMaxN is the maximum number of values. It bounds the work, which grows with the square
	// of that number.
	ChangeMaxN = 500
	// ChangeAlpha is the significance level: in a series without a change, a change point is found
	// with at most this probability.
	ChangeAlpha = 0.01
	// ChangeShuffles is the number of shuffles in the test of a change point. The smallest possible
	// P is therefore 0.001.
	ChangeShuffles = 999
)

// ChangePoint is a position in a series of values where their distribution changes.
type ChangePoint struct {
	// At is the index of the first value after the change.
	At int
	// P is the fraction of shuffles, including the series itself, in which some split is at least
	// as clear as this one.
	P float64
	// Before is the median of the values from the previous change point, or the start, to this one.
	// After is the median of the values from this one to the next change point, or the end.
	Before, After Summary
	// LevelP is the P of the Mann-Whitney test that the values of one side tend to be larger. If
	// LevelP is at least ChangeAlpha, the spread changed and not the level.
	LevelP float64
}

// OfLevel reports whether the level changed, and not only the spread.
func (c ChangePoint) OfLevel() bool { return c.LevelP < ChangeAlpha }

// FindChangePoints returns the change points of a time series, earliest first, by the E-divisive
// method (Matteson and James, Journal of the American Statistical Association 109, 2014) with the
// exponent 1. It splits a segment, at first the whole series, where the energy divergence of both
// sides is largest:
//
//	m n / (m + n) · (2 mean|x - y| - mean|x - x'| - mean|y - y'|)
//
// x are the m values before the split and y the n values after it, and the means are over all pairs
// of different values. Both sides have at least ChangeMinSide values. As in the use of the method
// for performance tests (Daly and others, ICPE 2020), y extends to the end of the segment. The
// clearest split of all segments is tested: a generator with the given seed shuffles the values of
// each segment ChangeShuffles times, and P is the fraction of shuffles whose clearest split is at
// least as clear. If P is at most ChangeAlpha, the split is a change point, and the search
// continues with the segments on both sides of it. Otherwise the search ends. Equal values and
// seeds yield equal change points.
//
// The work is at most ChangeMaxN/ChangeMinSide tests, each with n²/2 distances for each shuffle.
// For a series without a change point, the test ends early once too many shuffles are as clear as
// the series.
//
// Limits: the method assumes values that are independent except for the changes; for values that
// depend on their neighbours it finds change points too often. It finds a slow rise or fall as one
// or more steps. One outlier, or a few separate ones, are not reported as a change, but
// ChangeMinSide consecutive outliers are. It finds any change of the distribution, including a
// change of the spread: see OfLevel. To find a change smaller than the spread, it needs more than
// ChangeMinN values. Equal values are valid, and a constant series has no change point.
//
// FindChangePoints fails if there are fewer than ChangeMinN or more than ChangeMaxN values, if a
// value is NaN or infinite, and if the values are too far apart for a finite sum of distances.
func FindChangePoints(values []float64, seed uint64) ([]ChangePoint, error) {
	n := len(values)
	if n < ChangeMinN || n > ChangeMaxN {
		return nil, fmt.Errorf("change points need from %d to %d values, not %d", ChangeMinN, ChangeMaxN, n)
	}
	if err := checkFinite("find change points", values); err != nil {
		return nil, err
	}
	if apart := slices.Max(values) - slices.Min(values); apart > math.MaxFloat64/ChangeMaxN/ChangeMaxN {
		return nil, errors.New("the values are too far apart: the sum of their distances is not finite")
	}
	random := rand.New(rand.NewPCG(seed, 0))
	ends, ps := []int{0, n}, map[int]float64{}
	for {
		segments := segmentsOf(values, ends)
		at, divergence := clearest(segments)
		if divergence <= 0 { // all segments are constant or too short
			break
		}
		p := shuffledP(segments, divergence, random)
		if p > ChangeAlpha {
			break
		}
		ends, ps[at] = append(ends, at), p
		slices.Sort(ends)
	}
	return describe(values, ends, ps)
}

func describe(values []float64, ends []int, ps map[int]float64) ([]ChangePoint, error) {
	var found []ChangePoint
	for i := 1; i < len(ends)-1; i++ {
		at := ends[i]
		before, after := values[ends[i-1]:at], values[at:ends[i+1]]
		c := ChangePoint{At: at, P: ps[at]}
		var errs [3]error
		c.Before, errs[0] = Summarise(before)
		c.After, errs[1] = Summarise(after)
		level, err := MannWhitney(before, after, ChangeAlpha)
		c.LevelP, errs[2] = level.P, err
		if err := errors.Join(errs[:]...); err != nil {
			return nil, fmt.Errorf("describe the change point at value %d: %w", at+1, err)
		}
		found = append(found, c)
	}
	return found, nil
}

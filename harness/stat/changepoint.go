package stat

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// ChangeMinSide is the least number of values on each side of a change point, up to the next one or the end of the series. A change
	// among the newest values is therefore found when ChangeMinSide values have been measured after the change, and not before.
	ChangeMinSide = 5
	// ChangeMinN is the number of values of a series below which FindChangePoints fails. Of ten values, two of the 252 ways to split them are
	// as extreme as the clearest step, a P of 0.008: too near ChangeAlpha for ChangeShuffles. Of twelve it is at most 0.0025.
	ChangeMinN = 12
	// ChangeMaxN bounds the work, which grows with the square of the number.
	ChangeMaxN = 500
	// ChangeAlpha is the level that the P of a change point reaches: a series without a change has one with this probability at most.
	ChangeAlpha = 0.01
	// ChangeShuffles is how often the values of a series are shuffled to test a change point, so that the least P is 0.001.
	ChangeShuffles = 999
)

// ChangePoint is a place in a series of values from which on they have another distribution.
type ChangePoint struct {
	// At is the index of the first value after the change.
	At int
	// P is the part of shuffles, the series itself included, in which some split is as clear as this one.
	P float64
	// Before and After are the medians of the values from the change point before, or the begin, to this one, and from this one to the next, or
	// the end.
	Before, After Summary
	// LevelP is the P of the test of Mann and Whitney that the values of one side tend to be larger. Where LevelP is not below ChangeAlpha, the
	// change is one of the spread and not of the level.
	LevelP float64
}

// OfLevel reports whether the level changed, and not the spread alone.
func (c ChangePoint) OfLevel() bool { return c.LevelP < ChangeAlpha }

// FindChangePoints returns the change points of values in the order of time, the earliest first, by the E-divisive method (Matteson and
// James, Journal of the American Statistical Association 109, 2014) with the exponent 1. A segment, in the beginning the whole series, is
// split where the energy divergence of both sides is largest:
//
//	m n / (m + n) · (2 mean|x - y| - mean|x - x'| - mean|y - y'|)
//
// x are the m values before the split and y the n values behind it, and the means are over all pairs of different values. Both
// sides have at least ChangeMinSide values. As in the use of the method for performance tests (Daly and others, ICPE 2020), y reaches to the end of
// the segment. The clearest split of all segments is tested: the values of each segment are shuffled ChangeShuffles times by a generator
// that begins with seed, and P is the part of shuffles whose clearest split is at least as clear. While P is at most ChangeAlpha,
// the split is a change point, and the search goes on among the segments that it makes. Equal values and seeds have equal change points.
//
// The work is at most ChangeMaxN/ChangeMinSide tests, each with n²/2 distances for each shuffle; of a series without a change point, a shuffle as
// clear as the series ends the test early.
//
// The limits: the method assumes values that are independent but for the changes; values that depend on their neighbours have change points too
// often. A slow rise or fall is found as one step or several. One value far out, or a few that are not neighbours, are no change, but
// ChangeMinSide neighbours are one. The method finds any change of the distribution, of the spread too: see OfLevel. A change by less than the
// spread needs more values than ChangeMinN. Equal values are fine, and a series of one value has no change point.
//
// FindChangePoints fails if there are fewer than ChangeMinN or more than ChangeMaxN values, if a value is NaN or infinite, and if the values are too
// far apart for a sum of distances.
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
		if divergence <= 0 { // all segments are constant, or too short
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

// describe returns the change points between the ends of segments.
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

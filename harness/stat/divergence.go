package stat

import (
	"math"
	"math/rand/v2"
)

// segment is a part of a series that the search for change points has not split.
type segment struct {
	from  int // index of its first value in the series
	items []distant
}

// distant is a value of a segment with the sum of its distances to all other values of the segment.
// Shuffling the segment does not change this sum.
type distant struct{ value, sum float64 }

// segmentsOf cuts a series at ends, which start with 0 and end with the number of values.
func segmentsOf(values []float64, ends []int) []segment {
	var segments []segment
	for i, to := range ends[1:] {
		s := segment{from: ends[i]}
		own := values[s.from:to]
		for _, v := range own {
			sum := 0.0
			for _, other := range own {
				sum += math.Abs(v - other)
			}
			s.items = append(s.items, distant{v, sum})
		}
		segments = append(segments, s)
	}
	return segments
}

// clearest returns the split with the largest divergence over all segments: the index of the first
// value after the split, and its divergence. divergence is 0 if no split has a positive divergence.
func clearest(segments []segment) (at int, divergence float64) {
	for _, s := range segments {
		if within, d := split(s.items); d > divergence {
			at, divergence = s.from+within, d
		}
	}
	return at, divergence
}

// split returns the split of one segment with the largest divergence, as clearest does for all.
func split(items []distant) (at int, divergence float64) {
	n := len(items)
	if n < 2*ChangeMinSide {
		return 0, 0
	}
	left, between, right := 0.0, 0.0, 0.0 // sums of the distances of pairs
	for _, x := range items {
		right += x.sum / 2
	}
	for i, x := range items[:n-ChangeMinSide] { // x moves from the right side to the left
		toLeft := 0.0
		for _, other := range items[:i] {
			toLeft += math.Abs(x.value - other.value)
		}
		toRight := x.sum - toLeft
		left, between, right = left+toLeft, between+toRight-toLeft, right-toRight
		m := i + 1
		if m < ChangeMinSide {
			continue
		}
		if d := energyDivergence(m, n-m, left, between, right); d > divergence {
			at, divergence = m, d
		}
	}
	return at, divergence
}

// energyDivergence returns the divergence of m and n values, at least two each; see
// FindChangePoints.
func energyDivergence(m, n int, left, between, right float64) float64 {
	a, b := float64(m), float64(n)
	return a * b / (a + b) * (2*between/(a*b) - 2*left/(a*(a-1)) - 2*right/(b*(b-1)))
}

// shuffledP returns the fraction of shuffles, including the series itself, whose clearest split has
// at least the given divergence. It stops as soon as the fraction certainly exceeds ChangeAlpha. It
// leaves the items of the segments shuffled.
func shuffledP(segments []segment, divergence float64, random *rand.Rand) float64 {
	// The tolerance is needed because the order of additions changes the last digits of a sum.
	least := divergence * (1 - 1e-9)
	asClear := 1
	for range ChangeShuffles {
		for _, s := range segments {
			random.Shuffle(len(s.items), func(i, j int) { s.items[i], s.items[j] = s.items[j], s.items[i] })
		}
		if _, d := clearest(segments); d >= least {
			asClear++
		}
		if float64(asClear) > ChangeAlpha*(ChangeShuffles+1) {
			break
		}
	}
	return float64(asClear) / (ChangeShuffles + 1)
}

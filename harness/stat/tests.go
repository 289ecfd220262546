package stat

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// PairsMax bounds the pairs that SignedRank takes: its exact distribution takes time in proportion to their cube.
const PairsMax = 1000

// Test is the outcome of a test that two sides are alike.
type Test struct {
	// P is how likely two sides that are alike differ at least as much in either direction, more than 0 and at most 1.
	P        float64
	N        int // values of the smaller side, or pairs
	Warnings []string
}

// MannWhitney tests whether values of one side tend to be larger than those of the other (Mann and Whitney 1947), two-sided
// and exact up to 50 values a side without ties, 25 with; beyond it uses the normal approximation. The rounds of the two sides
// need not be pairs. A side without values, or with one that is NaN or infinite, is an error. Sides that are all the same
// value are alike: P is 1.
func MannWhitney(a, b []float64) (Test, error) {
	if err := errors.Join(checkFinite("the first side", a), checkFinite("the second side", b)); err != nil {
		return Test{}, err
	}
	one := benchmath.NewSample(slices.Clone(a), &benchmath.DefaultThresholds)
	other := benchmath.NewSample(slices.Clone(b), &benchmath.DefaultThresholds)
	found := benchmath.AssumeNothing.Compare(one, other)
	// With ties the library's P depends on which side comes first: {1} against {1, 0.5} yields 0.67, and the other way round 1,
	// which is right. The larger one is never too small.
	t := Test{P: min(1, max(found.P, benchmath.AssumeNothing.Compare(other, one).P)), N: min(len(a), len(b))}
	for _, w := range found.Warnings {
		t.Warnings = append(t.Warnings, w.Error())
	}
	if math.IsNaN(t.P) || t.P <= 0 {
		return Test{}, fmt.Errorf("compare %d with %d values: the test yields p = %v", len(a), len(b), t.P)
	}
	return t, nil
}

// SignedRank tests whether paired differences lie around 0: Wilcoxon's signed-rank test (1945), two-sided. Were both sides
// alike, each difference would be as likely to have the other sign, so the test counts, of all 2^n ways to flip signs, those
// that tip the ranks at least as far. It is exact for any number of pairs, ties included (which share their mean rank, and a
// difference of 0 counts for neither direction). Ranks keep one round that the host disturbed from hiding, or making, a
// difference. The smallest P that n pairs can reach is 2/2^n. None, more than PairsMax, and one that is NaN or infinite are
// errors.
func SignedRank(differences []float64) (Test, error) {
	if err := checkFinite("the pairs", differences); err != nil {
		return Test{}, err
	}
	if len(differences) > PairsMax {
		return Test{}, fmt.Errorf("%d pairs are more than %d", len(differences), PairsMax)
	}
	t := Test{P: 1, N: len(differences)}
	ranks, positive, total := doubledRanks(differences)
	if total == 0 {
		return t, nil
	}
	// ways[w] is the share of all flips in which the positive ranks sum to w.
	ways := make([]float64, total+1)
	ways[0] = 1
	reach := 0
	for _, r := range ranks {
		reach += r
		for w := reach; w >= 0; w-- {
			here := ways[w] / 2
			if w >= r {
				here += ways[w-r] / 2
			}
			ways[w] = here
		}
	}
	tail := 0.0
	for _, w := range ways[:min(positive, total-positive)+1] {
		tail += w
	}
	t.P = min(1, 2*tail)
	if t.P <= 0 { // 2^-1074 is the smallest number that there is
		t.P = math.SmallestNonzeroFloat64
	}
	return t, nil
}

// doubledRanks returns twice the rank of each nonzero difference by size, the sum of those of positive ones, and of all:
// doubled, a mean rank is a whole number.
func doubledRanks(differences []float64) (ranks []int, positive, total int) {
	sorted := slices.DeleteFunc(slices.Clone(differences), func(d float64) bool { return d == 0 })
	slices.SortFunc(sorted, func(a, b float64) int {
		switch d := math.Abs(a) - math.Abs(b); {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return 0
	})
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && math.Abs(sorted[j]) == math.Abs(sorted[i]) {
			j++
		}
		rank := i + 1 + j // twice the mean of the ranks i+1 to j
		for ; i < j; i++ {
			ranks = append(ranks, rank)
			total += rank
			if sorted[i] > 0 {
				positive += rank
			}
		}
	}
	return ranks, positive, total
}

// Holm corrects the P of several tests for their number (Holm 1979): to call all those significant whose corrected P is at
// most alpha makes one false call or more with probability alpha at most, however the tests depend on one another. The result
// is in the order of ps; each is at least the P it was and at most 1. A P that is NaN or outside 0 to 1 counts as 1.
func Holm(ps []float64) []float64 {
	sound := make([]float64, len(ps))
	order := make([]int, len(ps))
	for i, p := range ps {
		sound[i], order[i] = p, i
		if math.IsNaN(p) || p < 0 || p > 1 {
			sound[i] = 1
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case sound[a] < sound[b]:
			return -1
		case sound[a] > sound[b]:
			return 1
		}
		return 0
	})
	corrected := make([]float64, len(ps))
	highest := 0.0
	for step, i := range order {
		highest = max(highest, min(1, float64(len(ps)-step)*sound[i]))
		corrected[i] = highest
	}
	return corrected
}

func checkFinite(of string, values []float64) error {
	if len(values) == 0 {
		return fmt.Errorf("%s: %w", of, ErrNoValues)
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s: value %d of %d is %v: only finite numbers can be compared", of, i+1, len(values), v)
		}
	}
	return nil
}

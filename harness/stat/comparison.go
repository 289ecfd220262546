package stat

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// PairsMax is the maximum number of pairs for SignedRank. The time to compute its exact
// distribution is proportional to the cube of that number.
const PairsMax = 1000

// Comparison is the outcome of a two-sided test of the hypothesis that two samples come from the
// same distribution. The fields are those of golang.org/x/perf/benchmath.
type Comparison struct {
	// P is the probability that samples of the same distribution differ at least as much; greater
	// than 0 and at most 1.
	P      float64
	N1, N2 int // sizes of the samples; both are the number of pairs if paired
	// Alpha is the significance level of the test.
	Alpha    float64
	Warnings []string
}

// MannWhitney tests whether the values of one sample tend to be larger than those of the other, at
// the significance level alpha (Mann and Whitney 1947). The test is exact up to 50 values per side
// without ties and 25 with ties; for more values it uses the normal approximation. The samples need
// not be paired. MannWhitney fails if a sample is empty or has a value that is NaN or infinite. If
// all values are equal, P is 1.
func MannWhitney(a, b []float64, alpha float64) (Comparison, error) {
	if err := errors.Join(checkFinite("the first side", a), checkFinite("the second side", b)); err != nil {
		return Comparison{}, err
	}
	thresholds := &benchmath.Thresholds{CompareAlpha: alpha}
	one, other := benchmath.NewSample(slices.Clone(a), thresholds), benchmath.NewSample(slices.Clone(b), thresholds)
	found := benchmath.AssumeNothing.Compare(one, other)
	// With ties, the library's P depends on the order of the sides: {1} against {1, 0.5} yields
	// 0.67, and the reverse yields 1, which is correct. The larger of the two is never below the
	// correct P.
	p := min(1, max(found.P, benchmath.AssumeNothing.Compare(other, one).P))
	if math.IsNaN(p) || p <= 0 {
		return Comparison{}, fmt.Errorf("compare %d with %d values: the test yields p = %v", len(a), len(b), p)
	}
	return Comparison{P: p, N1: len(a), N2: len(b), Alpha: alpha, Warnings: texts(found.Warnings)}, nil
}

// SignedRank tests whether paired differences are centered at 0, at the significance level alpha:
// Wilcoxon's signed-rank test (1945). If the sides do not differ, each difference is equally likely
// to have the other sign. The test therefore counts, among all 2^n sign flips, those whose ranks
// are at least as unbalanced. It is exact for any number of pairs. Tied differences share their
// mean rank, and a difference of 0 is ignored. Because only the ranks matter, one disturbed round
// neither hides nor creates a difference. The smallest P for n pairs is 2/2^n. SignedRank fails
// without differences, with more than PairsMax, and if one is NaN or infinite.
func SignedRank(differences []float64, alpha float64) (Comparison, error) {
	if err := checkFinite("the pairs", differences); err != nil {
		return Comparison{}, err
	}
	if len(differences) > PairsMax {
		return Comparison{}, fmt.Errorf("%d pairs are more than %d", len(differences), PairsMax)
	}
	t := Comparison{P: 1, N1: len(differences), N2: len(differences), Alpha: alpha}
	ranks, positive, total := doubledRanks(differences)
	if total == 0 {
		return t, nil
	}
	// ways[w] is the fraction of all sign flips whose positive ranks sum to w.
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
	if t.P <= 0 { // 2/2^n is below the range of a float64
		t.P = math.SmallestNonzeroFloat64
	}
	return t, nil
}

// doubledRanks returns twice the rank of each nonzero difference by size, the sum of the ranks of
// the positive ones, and the sum of all. Doubling makes mean ranks integers.
func doubledRanks(differences []float64) (ranks []int, positive, total int) {
	sorted := slices.DeleteFunc(slices.Clone(differences), func(d float64) bool { return d == 0 })
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
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

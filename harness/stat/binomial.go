package stat

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// AtLeast returns the probability of at least hits in n independent trials that each hit with
// probability p. It is the exact binomial test of the hypothesis that the probability is at most p.
// Without trials or hits it returns 1.
func AtLeast(hits, n int, p float64) float64 {
	if hits <= 0 || n <= 0 {
		return 1
	}
	if hits > n {
		return 0
	}
	return 1 - distuv.Binomial{N: float64(n), P: p}.CDF(float64(hits-1))
}

// ShareAtLeast returns the exact one-sided lower bound (Clopper and Pearson, 1934) of a probability
// from n independent trials with the given hits. The bound exceeds the true probability with a
// probability of at most alpha. Without trials or hits it is 0.
func ShareAtLeast(hits, n int, alpha float64) float64 {
	if hits <= 0 || n <= 0 {
		return 0
	}
	low, high := 0.0, 1.0
	for range 60 { // halvings: more than the bits of a float's fraction
		if middle := (low + high) / 2; AtLeast(hits, n, middle) < alpha {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// ShareAtMost returns the exact one-sided upper bound of a probability; see ShareAtLeast. Without
// trials it is 1.
func ShareAtMost(hits, n int, alpha float64) float64 {
	return 1 - ShareAtLeast(n-hits, n, alpha)
}

// FisherGreater is the one-sided exact test of Fisher (1935) whether the n items of a group are
// marked more often than the others. It returns the p-value: the probability of at least this many
// marks in the group if all marks were distributed randomly over all items. It fails if there are
// more marks than items, or if a number is negative.
func FisherGreater(marked, n, othersMarked, others int) (float64, error) {
	if marked < 0 || othersMarked < 0 || marked > n || othersMarked > others {
		return 0, fmt.Errorf("%d of %d and %d of %d are not counts of marks: each must be from 0 to the number of items", marked, n, othersMarked, others)
	}
	all := marked + othersMarked
	p := 0.0
	for k := marked; k <= min(n, all); k++ {
		if all-k <= others {
			p += math.Exp(logChoose(n, k) + logChoose(others, all-k) - logChoose(n+others, all))
		}
	}
	return min(p, 1), nil
}

package main

import "math"

const (
	// effectLevel is how often a test that finds nothing but noise may call it an effect.
	effectLevel = 0.05
	// effectPower is how often an effect of the size given is found.
	effectPower = 0.8
)

// smallestEffect returns the smallest change, as a part of 1, that n pairs of rounds side by side tell from chance, where the
// logarithms of their ratios are normally distributed with a standard deviation of spread: by the sign test (Arbuthnot 1710),
// two-sided at effectLevel, with a probability of effectPower. ok is false where n pairs can't, however large the change is.
func smallestEffect(n int, spread float64) (effect float64, ok bool) {
	k := n + 1 // how many pairs must agree
	for k > 0 && 2*binomialTail(n, k-1, 0.5) <= effectLevel {
		k--
	}
	if k > n {
		return 0, false
	}
	// The probability that a pair agrees, by bisection: the tail grows with it.
	low, high := 0.5, 1.0
	for range 60 {
		if middle := (low + high) / 2; binomialTail(n, k, middle) < effectPower {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Expm1(math.Sqrt2 * math.Erfinv(2*high-1) * spread), true
}

// binomialTail is the probability that at least k of n independent things happen, each with probability p.
func binomialTail(n, k int, p float64) float64 {
	total := 0.0
	logN, _ := math.Lgamma(float64(n + 1))
	for i := max(k, 0); i <= n; i++ {
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		total += math.Exp(logN - a - b + xlog(i, p) + xlog(n-i, 1-p))
	}
	return total
}

// xlog is i times the logarithm of p, and 0 if i is.
func xlog(i int, p float64) float64 {
	if i == 0 {
		return 0
	}
	return float64(i) * math.Log(p)
}

package stat

import "gonum.org/v1/gonum/stat/distuv"

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

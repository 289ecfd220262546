package stat

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

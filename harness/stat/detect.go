package stat

import (
	"fmt"
	"math"
	"slices"
)

// Power is the probability with which Detectable's effect is found.
const Power = 0.8

// rankEfficiency is that of ranks beside means where differences are normal: 3/pi.
const rankEfficiency = 3 / math.Pi

// Detectable returns the smallest change of a ratio from 1, as a part of 1, that SignedRank over n pairs finds at the level
// alpha, two-sided, with probability Power, where differences of logarithms spread by a standard deviation of spread: the
// usual formula of the t-test, widened by what ranks lose where differences are normal. It is an error if n pairs can't reach alpha
// whatever they are, since 2/2^n is larger; the error says how many it takes. n and spread must be sound numbers; spread may
// be 0.
func Detectable(n int, spread, alpha float64) (float64, error) {
	switch {
	case math.IsNaN(spread) || spread < 0 || math.IsInf(spread, 0):
		return 0, fmt.Errorf("a spread of %v is none", spread)
	case math.IsNaN(alpha) || alpha <= 0 || alpha >= 1:
		return 0, fmt.Errorf("a level of %v is outside 0 to 1", alpha)
	}
	if least := PairsFor(alpha); n < least {
		return 0, fmt.Errorf("%d pairs tell nothing at a level of %.4f: it takes at least %d", n, alpha, least)
	}
	t := studentQuantile(1-alpha/2, n-1) + studentQuantile(Power, n-1)
	return math.Expm1(t * spread / math.Sqrt(rankEfficiency*float64(n))), nil
}

// PairsFor returns the least number of pairs with which SignedRank can reach the level alpha, greater than 0.
func PairsFor(alpha float64) int { return max(2, int(math.Ceil(math.Log2(2/alpha)-1e-12))) }

// Spread returns the standard deviation of values, by their median absolute deviation from the median times 1.4826, which
// makes it that of a normal distribution, or, where more than half of the values are the same, by their squares. One value
// alone has none: that is an error.
func Spread(values []float64) (float64, error) {
	if err := checkFinite("the spread", values); err != nil {
		return 0, err
	}
	if len(values) < 2 {
		return 0, fmt.Errorf("the spread of %d value is unknown", len(values))
	}
	middle := median(slices.Clone(values))
	away := make([]float64, len(values))
	squares, mean := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for i, v := range values {
		away[i] = math.Abs(v - middle)
		squares += (v - mean) * (v - mean)
	}
	if spread := 1.4826 * median(away); spread > 0 {
		return spread, nil
	}
	return math.Sqrt(squares / float64(len(values)-1)), nil
}

// normalQuantile returns the value that a standard normal variable does not exceed with probability p.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// studentQuantile returns that of Student's t with so many degrees of freedom, by the expansion of Cornish and Fisher (1938)
// to the third power of their reciprocal (Abramowitz and Stegun 26.7.5). It is good to 2 % from 5 degrees on, for p up to 0.999.
func studentQuantile(p float64, degrees int) float64 {
	z, v := normalQuantile(p), float64(max(1, degrees))
	z2 := z * z
	return z + z*(z2+1)/(4*v) +
		z*((5*z2+16)*z2+3)/(96*v*v) +
		z*(((3*z2+19)*z2+17)*z2-15)/(384*v*v*v)
}

// WilsonInterval returns the 95 % interval of a probability of which hits of n trials were seen (Wilson 1927), which is sound
// also where none or all of them hit. Without trials it is 0 to 1.
func WilsonInterval(hits, n int) (low, high float64) {
	if n <= 0 || hits < 0 || hits > n {
		return 0, 1
	}
	z := normalQuantile((1 + Confidence) / 2)
	p, m := float64(hits)/float64(n), float64(n)
	middle := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, middle-half), min(1, middle+half)
}

package stat

import (
	"fmt"
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Power is the probability of detecting the effect that Detectable returns.
const Power = 0.8

// rankEfficiency is the asymptotic relative efficiency of the signed-rank test compared with the
// t-test for normal differences.
const rankEfficiency = 3 / math.Pi

// Detectable returns the smallest effect, as a deviation of a ratio from 1, that SignedRank over n
// pairs detects with probability Power at the two-sided level alpha. sd is the standard deviation
// of the logarithms of the pairs' ratios, 0 or more. The formula is that of the t-test, widened by
// the efficiency of ranks:
//
//	exp((t(1-alpha/2) + t(Power)) · sd / √(3/π · n)) - 1
//
// where t is the quantile of Student's t with n-1 degrees of freedom. It fails if n is below
// MinPairs(alpha).
func Detectable(n int, sd, alpha float64) (float64, error) {
	switch {
	case math.IsNaN(sd) || sd < 0 || math.IsInf(sd, 0):
		return 0, fmt.Errorf("the standard deviation %v must be a finite number of at least 0", sd)
	case math.IsNaN(alpha) || alpha <= 0 || alpha >= 1:
		return 0, fmt.Errorf("the significance level %v must be between 0 and 1", alpha)
	}
	if least := MinPairs(alpha); n < least {
		return 0, fmt.Errorf("%d pairs cannot reach the significance level %.4f: measure at least %d", n, alpha, least)
	}
	t := studentQuantile(n-1, 1-alpha/2) + studentQuantile(n-1, Power)
	return math.Expm1(t * sd / math.Sqrt(rankEfficiency*float64(n))), nil
}

// MinPairs returns the least number of pairs with which SignedRank can reach the level alpha, which
// must be greater than 0.
func MinPairs(alpha float64) int { return max(2, int(math.Ceil(math.Log2(2/alpha)-1e-12))) }

// StdDev estimates the standard deviation of values robustly: their median absolute deviation from
// the median times 1.4826, which equals the standard deviation for a normal distribution. If more
// than half of the values are equal, it returns the sample standard deviation. It fails with fewer
// than two values.
func StdDev(values []float64) (float64, error) {
	if err := checkFinite("the standard deviation", values); err != nil {
		return 0, err
	}
	if len(values) < 2 {
		return 0, fmt.Errorf("the standard deviation of %d value is unknown", len(values))
	}
	middle := median(slices.Clone(values))
	away := make([]float64, len(values))
	for i, v := range values {
		away[i] = math.Abs(v - middle)
	}
	if robust := 1.4826 * median(away); robust > 0 {
		return robust, nil
	}
	return gonum.StdDev(values, nil), nil
}

// WilsonInterval returns the 95 % confidence interval of a probability that is estimated from n
// trials with the given hits (Wilson 1927). The interval has its confidence level even if no trial,
// or every trial, is a hit. Without trials the interval is 0 to 1.
func WilsonInterval(hits, n int) (low, high float64) {
	if n <= 0 || hits < 0 || hits > n {
		return 0, 1
	}
	z := distuv.UnitNormal.Quantile((1 + Level) / 2)
	p, m := float64(hits)/float64(n), float64(n)
	middle := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, middle-half), min(1, middle+half)
}

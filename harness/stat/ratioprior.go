package stat

import (
	"fmt"
	"math"

	gonum "gonum.org/v1/gonum/stat"
)

// NoisePrior describes the noise of a ratio from earlier measurements: the standard deviation of
// its logarithm over pairs, and the weight of this knowledge in degrees of freedom. A few pairs
// contain little information on their own noise. The prior prevents that two pairs that agree by
// chance yield a certain result.
type NoisePrior struct {
	SD      float64
	Degrees int
}

// ModeratedRatio is the geometric mean of ratios with bounds of a moderated Student's t: its
// variance is the mean of the prior's and the sample's variances, weighted by their degrees of
// freedom (Smyth, Statistical Applications in Genetics and Molecular Biology 3, 2004).
type ModeratedRatio struct {
	N                   int
	degrees             int
	mean, standardError float64
}

// Moderate estimates a ratio from the logarithms of the ratios of independent pairs. It fails
// without a pair, if a logarithm is not finite, and if the prior is not above 0.
func (p NoisePrior) Moderate(logs []float64) (ModeratedRatio, error) {
	n := len(logs)
	if n == 0 {
		return ModeratedRatio{}, fmt.Errorf("a ratio needs at least one pair")
	}
	if !(p.SD > 0) || p.Degrees <= 0 {
		return ModeratedRatio{}, fmt.Errorf("a prior noise of %v with %d degrees of freedom is not above 0", p.SD, p.Degrees)
	}
	own := 0.0
	for _, v := range logs {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ModeratedRatio{}, fmt.Errorf("a ratio is 0, negative or not finite")
		}
	}
	if n > 1 {
		own = gonum.Variance(logs, nil)
	}
	degrees := p.Degrees + n - 1
	variance := (float64(p.Degrees)*p.SD*p.SD + float64(n-1)*own) / float64(degrees)
	return ModeratedRatio{N: n, degrees: degrees, mean: gonum.Mean(logs, nil), standardError: math.Sqrt(variance / float64(n))}, nil
}

// Center returns the estimate.
func (r ModeratedRatio) Center() float64 { return math.Exp(r.mean) }

// Lower returns the one-sided lower bound: the true ratio is below it with the probability alpha,
// which must be between 0 and 1.
func (r ModeratedRatio) Lower(alpha float64) float64 { return math.Exp(r.mean - r.reach(alpha)) }

// Upper returns the one-sided upper bound; see Lower.
func (r ModeratedRatio) Upper(alpha float64) float64 { return math.Exp(r.mean + r.reach(alpha)) }

func (r ModeratedRatio) reach(alpha float64) float64 {
	return studentQuantile(r.degrees, 1-alpha) * r.standardError
}

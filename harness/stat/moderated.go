package stat

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	gonum "gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Pairs are the values of one feature, such as a function of a profile. Values of the two sides
// that were measured next to each other have the same index.
type Pairs struct{ Base, Change []Counted }

const (
	// priorFeatures is the least number of features for an estimate of the common noise.
	priorFeatures = 8
	// priorDegreesMax is the weight of the prior if the noise is the same multiple in all features.
	priorDegreesMax = 1e4
	// leastNoise is the lower bound of the variance ratios in the fit of the prior, as a fraction
	// of their median. It is needed because a few counts can be equal by chance, and the logarithm
	// of a ratio of 0 would outweigh all other features.
	leastNoise = 0.05
)

// ModeratedDifferences returns the difference of the means of each feature with an interval. The
// intervals are simultaneous: with probability 1 - alpha, all of them contain the true difference.
// They are corrected by Bonferroni for the given number of comparisons: the features and everything
// else that the caller examines with the same alpha.
//
// A few pairs contain little information on the noise of one feature, which makes the intervals of
// Student's t wide. All features together contain more. In the model, the variance of a feature's
// differences is a multiple of the variance that its counts would have as Poisson variables. The
// multiples are drawn from a scaled inverse chi-squared distribution, which is fitted to all
// features. The mean of the distribution is combined with each feature's own variance, weighted by
// the degrees of freedom of both: the moderated t of Smyth (2004). The common noise is never below
// the noise of the counts. With fewer than 8 features, each uses its own Student's t.
//
// ModeratedDifferences fails if features have different numbers of pairs or fewer than two pairs,
// if a value is not finite, or if comparisons is below the number of features.
func ModeratedDifferences(features []Pairs, alpha float64, comparisons int) ([]Difference, error) {
	if err := checkPairs(features, comparisons); err != nil {
		return nil, err
	}
	if len(features) == 0 {
		return nil, nil
	}
	n := len(features[0].Base)
	own, counts := make([]float64, len(features)), make([]float64, len(features))
	out := make([]Difference, len(features))
	for i, f := range features {
		each := make([]float64, n)
		for k := range each {
			each[k] = f.Change[k].Value - f.Base[k].Value
		}
		own[i], counts[i] = gonum.Variance(each, nil), countVariance(f)
		out[i] = Difference{Base: meanOf(f.Base), Change: meanOf(f.Change), N: n}
	}
	prior := fitPrior(own, counts, n-1)
	for i := range out {
		d := &out[i]
		variance, degrees := prior.moderate(own[i], counts[i], n-1)
		center := d.Change - d.Base
		half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: degrees}.Quantile(1-alpha/2/float64(comparisons)) * math.Sqrt(variance/float64(n))
		d.Low, d.High = center-half, center+half
	}
	return out, nil
}

func checkPairs(features []Pairs, comparisons int) error {
	if comparisons < len(features) {
		return fmt.Errorf("%d comparisons are fewer than the %d features", comparisons, len(features))
	}
	for _, f := range features {
		n := len(features[0].Base)
		if n < 2 || len(f.Base) != n || len(f.Change) != n {
			return fmt.Errorf("all features need the same number of pairs, at least 2: one has %d and %d values, but the first has %d", len(f.Base), len(f.Change), n)
		}
		for _, v := range slices.Concat(f.Base, f.Change) {
			if err := v.check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// countVariance returns the variance of the differences of a feature if its counts are Poisson
// variables. A count of 0 has the noise of one event, at the mean size of the feature's events.
func countVariance(f Pairs) float64 {
	one := perEvent(slices.Concat(f.Base, f.Change))
	var sum float64
	for _, v := range slices.Concat(f.Base, f.Change) {
		if v.Events > 0 {
			sum += v.Value * v.Value / v.Events
		}
	}
	return max(sum/float64(len(f.Base)), one*one)
}

// prior is the estimate of a feature's noise from all features together: the feature's variance is
// expected to be the variance of its counts times multiple. degrees is the weight of the estimate,
// in degrees of freedom.
type prior struct{ multiple, degrees float64 }

// fitPrior estimates the prior from the variances of features with the given degrees of freedom, by
// the mean and the variance of their logarithms.
func fitPrior(own, counts []float64, degrees int) prior {
	var ratios []float64
	for i := range own {
		if counts[i] > 0 {
			ratios = append(ratios, own[i]/counts[i])
		}
	}
	if len(ratios) < priorFeatures {
		return prior{multiple: 1}
	}
	least := leastNoise * median(slices.Clone(ratios))
	half := float64(degrees) / 2
	logs := make([]float64, len(ratios))
	for i, r := range ratios {
		logs[i] = math.Log(max(r, least, math.SmallestNonzeroFloat64)) - mathext.Digamma(half) + math.Log(half)
	}
	mean, variance := gonum.MeanVariance(logs, nil)
	p := prior{multiple: math.Exp(mean), degrees: priorDegreesMax}
	if excess := variance - trigamma(half); excess > trigamma(priorDegreesMax/2) {
		p.degrees = 2 * trigammaInverse(excess)
		p.multiple = math.Exp(mean + mathext.Digamma(p.degrees/2) - math.Log(p.degrees/2))
	}
	p.multiple = max(1, p.multiple)
	return p
}

// moderate returns the moderated variance of the differences of a feature and its degrees of
// freedom.
func (p prior) moderate(own, counts float64, degrees int) (variance, all float64) {
	all = p.degrees + float64(degrees)
	return (p.degrees*p.multiple*counts + float64(degrees)*own) / all, all
}

func trigamma(x float64) float64 { return mathext.Zeta(2, x) }

// trigammaInverse returns the x above 0 at which trigamma is y, by Newton's method as in the
// appendix of Smyth (2004).
func trigammaInverse(y float64) float64 {
	x := 0.5 + 1/y
	for range 50 {
		t := trigamma(x)
		step := t * (1 - t/y) / (-2 * mathext.Zeta(3, x))
		x += step
		if math.Abs(step)/x < 1e-8 {
			break
		}
	}
	return x
}

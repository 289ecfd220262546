package stat

import (
	"fmt"
	"math"

	gonum "gonum.org/v1/gonum/stat"
)

// Mean is the mean of independent values, with what Student's t needs for one-sided tests and bounds.
type Mean struct {
	Center float64
	StdErr float64 // at least 0
	N      int     // values, at least 2
}

// MeanOf returns the mean of values. It fails with fewer than two values, and if one is NaN or infinite.
func MeanOf(values []float64) (Mean, error) {
	if err := checkFinite("the mean", values); err != nil {
		return Mean{}, err
	}
	if len(values) < 2 {
		return Mean{}, fmt.Errorf("the standard error of the mean of %d value is unknown: at least 2 are needed", len(values))
	}
	center, sd := gonum.MeanStdDev(values, nil)
	if math.IsInf(center, 0) || math.IsInf(sd, 0) || math.IsNaN(sd) {
		return Mean{}, fmt.Errorf("the values are too large for a mean: got %v with standard deviation %v", center, sd)
	}
	return Mean{Center: center, StdErr: sd / math.Sqrt(float64(len(values))), N: len(values)}, nil
}

// PAbove is the p value of the one-sided t-test of the hypothesis that the true mean is at most limit: the probability of a mean
// at least as far above limit if the hypothesis holds. One extreme value raises the mean and the standard error alike, so
// that it cannot make a small p alone. If all values are equal, p is 0 above limit and 1 otherwise.
func (m Mean) PAbove(limit float64) float64 {
	if m.StdErr == 0 {
		if m.Center > limit {
			return 0
		}
		return 1
	}
	return student(m.N - 1).Survival((m.Center - limit) / m.StdErr)
}

// Lower is the one-sided lower bound of the true mean: the bound is above the true mean with probability alpha, which must be between
// 0 and 1. Lower(alpha) exceeds a limit exactly if PAbove(limit) is less than alpha.
func (m Mean) Lower(alpha float64) float64 {
	return m.Center - student(m.N-1).Quantile(1-alpha)*m.StdErr
}

// Upper is the one-sided upper bound of the true mean; see Lower.
func (m Mean) Upper(alpha float64) float64 {
	return m.Center + student(m.N-1).Quantile(1-alpha)*m.StdErr
}

// DetectableAbove is the true mean that a test of PAbove(limit) at the level alpha calls with probability Power, if the standard
// error stays as it is.
func (m Mean) DetectableAbove(limit, alpha float64) float64 {
	t := student(m.N - 1)
	return limit + (t.Quantile(1-alpha)+t.Quantile(Power))*m.StdErr
}

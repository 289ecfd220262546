package stat

import (
	"fmt"
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/stat"
)

// Mean is the mean or trimmed mean of independent values, with the parameters for one-sided tests
// and bounds of Student's t.
type Mean struct {
	Center  float64
	StdErr  float64 // at least 0
	Degrees int     // of freedom, at least 1
}

// TrimmedMean returns the mean of the values without the given share of the lowest and of the
// highest values. The number of values to remove at each end is rounded down. share is from 0, for
// the mean of all values, to below 0.5. The standard error is that of the Winsorised values (Yuen,
// Biometrika 61, 1974), so a few outliers in either direction change neither the mean nor the error
// by much. TrimmedMean fails if fewer than two values remain, and if a value is NaN or infinite.
func TrimmedMean(values []float64, share float64) (Mean, error) {
	if err := checkFinite("the mean", values); err != nil {
		return Mean{}, err
	}
	if math.IsNaN(share) || share < 0 || share >= 0.5 {
		return Mean{}, fmt.Errorf("trim %v of the values at each end: the share must be from 0 to below 0.5", share)
	}
	n := len(values)
	cut := int(share * float64(n))
	left := n - 2*cut
	if left < 2 {
		return Mean{}, fmt.Errorf("the standard error of the mean of %d value is unknown: at least 2 are needed", left)
	}
	sorted := slices.Sorted(slices.Values(values))
	center := gonum.Mean(sorted[cut:n-cut], nil)
	for i := range cut {
		sorted[i], sorted[n-1-i] = sorted[cut], sorted[n-1-cut]
	}
	sd := gonum.StdDev(sorted, nil)
	if math.IsInf(center, 0) || math.IsInf(sd, 0) || math.IsNaN(sd) {
		return Mean{}, fmt.Errorf("the values are too large for a mean: got %v with standard deviation %v", center, sd)
	}
	return Mean{Center: center, StdErr: sd * math.Sqrt(float64(n-1)/float64(left)/float64(left-1)), Degrees: left - 1}, nil
}

// PAbove returns the p value of the one-sided t-test of the hypothesis that the true mean is at
// most limit: the probability of a mean at least as far above limit if the hypothesis is true. One
// extreme value raises both the mean and the standard error, so it alone cannot make p small. If
// all values are equal, p is 0 above limit and 1 otherwise.
func (m Mean) PAbove(limit float64) float64 {
	if m.StdErr == 0 {
		if m.Center > limit {
			return 0
		}
		return 1
	}
	return student(m.Degrees).Survival((m.Center - limit) / m.StdErr)
}

// Lower returns the one-sided lower bound of the true mean: the bound exceeds the true mean with
// probability alpha, which must be between 0 and 1. Lower(alpha) exceeds a limit exactly if
// PAbove(limit) is less than alpha.
func (m Mean) Lower(alpha float64) float64 {
	return m.Center - studentQuantile(m.Degrees, 1-alpha)*m.StdErr
}

// Upper returns the one-sided upper bound of the true mean; see Lower.
func (m Mean) Upper(alpha float64) float64 {
	return m.Center + studentQuantile(m.Degrees, 1-alpha)*m.StdErr
}

// DetectableAbove returns the true mean that a test of PAbove(limit) at the level alpha detects
// with probability Power, at the same standard error.
func (m Mean) DetectableAbove(limit, alpha float64) float64 {
	return limit + (studentQuantile(m.Degrees, 1-alpha)+studentQuantile(m.Degrees, Power))*m.StdErr
}

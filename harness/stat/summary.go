// Package stat turns measurements into statements: medians with intervals, and percentiles of histograms.
// What weakens a statement comes back as a warning beside it, as data; what makes it impossible is an error.
package stat

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

const (
	// Confidence is the level of every interval of this package.
	Confidence = 0.95
	// MinIntervalN is the number of values below which no order statistics bound the median at Confidence:
	// the widest interval of n values misses it with probability 2 / 2^n, which falls under 5 % at six.
	MinIntervalN = 6
)

// ErrNoValues says that there was nothing to summarise.
var ErrNoValues = errors.New("no values")

// Summary is the median of some values and how far it can be trusted.
type Summary struct {
	Median float64
	// Low and High bound the median's 95 % interval where Interval is true: the shortest run of order statistics
	// that holds the median with at least that probability, which need not be symmetric. Otherwise they are the
	// lowest and the highest value.
	Low, High float64
	N         int
	Interval  bool
	Warnings  []string
}

// Summarise returns the median of values with its order-statistic 95 % interval, or with its range where there
// are fewer than MinIntervalN values. It assumes no distribution. It leaves values as they are. Of no values,
// or of values of which one is NaN or infinite, there is no summary but an error.
func Summarise(values []float64) (Summary, error) {
	if len(values) == 0 {
		return Summary{}, ErrNoValues
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Summary{}, fmt.Errorf("value %d of %d is %v: only finite numbers can be summarised", i+1, len(values), v)
		}
	}
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	found := benchmath.AssumeNothing.Summary(sample, Confidence)
	s := Summary{Median: found.Center, Low: found.Lo, High: found.Hi, N: len(values), Interval: true}
	if s.N < MinIntervalN {
		s.Interval = false
		s.Low, s.High = sample.Values[0], sample.Values[s.N-1]
		s.Warnings = append(s.Warnings, fmt.Sprintf(
			"n = %d: a 95 %% interval needs at least %d values, low and high are the range", s.N, MinIntervalN))
	} else {
		for _, w := range found.Warnings {
			s.Warnings = append(s.Warnings, w.Error())
		}
	}
	for _, v := range []float64{s.Median, s.Low, s.High} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Summary{}, fmt.Errorf("the values are too large to summarise: got %v", v)
		}
	}
	return s, nil
}

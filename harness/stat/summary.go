package stat

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

const (
	// Level is the confidence level of every interval of this package.
	Level = 0.95
	// MinIntervalN is the minimum number of values for an interval of the median at Level. The
	// widest interval, the range of n values, misses the median with probability 2 / 2^n, which is
	// below 5 % only if n is at least six.
	MinIntervalN = 6
)

// Summary is an estimate of one quantity, the median of values or a ratio, with its confidence
// interval. The fields are those of golang.org/x/perf/benchmath.
type Summary struct {
	Center float64
	// Low and High are the ends of the interval.
	Low, High float64
	// Confidence is the probability that the interval contains the true value: at least
	// Level, unless a warning reports too few values.
	Confidence float64
	N          int // number of values, or pairs, or values of the smaller side
	Warnings   []string
}

// Summarise returns the median of values with its interval of order statistics: the shortest
// interval between sorted values that contains the median of the distribution with a probability of
// at least Level. With fewer than MinIntervalN values the interval is their range, which has a
// lower Confidence. Summarise assumes no distribution and does not modify values. It fails without
// values and if one is NaN or infinite.
func Summarise(values []float64) (Summary, error) {
	if err := checkFinite("summarise", values); err != nil {
		return Summary{}, err
	}
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	found := benchmath.AssumeNothing.Summary(sample, Level)
	s := Summary{Center: found.Center, Low: found.Lo, High: found.Hi, Confidence: found.Confidence, N: len(values)}
	if s.N < MinIntervalN {
		s.Low, s.High = sample.Values[0], sample.Values[s.N-1]
		// The interval misses if all values are above the median, or all below.
		s.Confidence = 1 - math.Exp2(float64(1-s.N))
		s.Warnings = append(s.Warnings, fmt.Sprintf(
			"n = %d: a 95 %% interval needs at least %d values, low and high are the range", s.N, MinIntervalN))
	} else {
		s.Warnings = texts(found.Warnings)
	}
	for _, v := range []float64{s.Center, s.Low, s.High} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Summary{}, fmt.Errorf("the values are too large to summarise: got %v", v)
		}
	}
	return s, nil
}

// MedianRanks returns which of n sorted values Summarise uses as the ends of the interval of the
// median, as ranks from 1. It also returns the exact probability that this interval contains the
// median of the distribution. n must be at least 1.
func MedianRanks(n int) (low, high int, confidence float64) {
	ranks := make([]float64, n)
	for i := range ranks {
		ranks[i] = float64(i + 1)
	}
	s, err := Summarise(ranks)
	if err != nil {
		return 0, 0, 0
	}
	low, high = int(s.Low), int(s.High)
	for k := low; k < high; k++ { // k values are below the median, including xlow but not xhigh
		confidence += math.Exp(logChoose(n, k) - float64(n)*math.Ln2)
	}
	return low, high, confidence
}

func logChoose(n, k int) float64 {
	logFactorial := func(m int) float64 {
		v, _ := math.Lgamma(float64(m + 1))
		return v
	}
	return logFactorial(n) - logFactorial(k) - logFactorial(n-k)
}

func texts(warnings []error) (all []string) {
	for _, w := range warnings {
		all = append(all, w.Error())
	}
	return all
}

// checkFinite returns an error if values is empty, or if a value is NaN or infinite.
func checkFinite(of string, values []float64) error {
	if len(values) == 0 {
		return fmt.Errorf("%s: %w", of, ErrNoValues)
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s: value %d of %d is %v: it must be a finite number", of, i+1, len(values), v)
		}
	}
	return nil
}

var (
	// ErrNoValues means that a statistic has no values.
	ErrNoValues = errors.New("no values")
	// ErrNoSamples means that a histogram is empty.
	ErrNoSamples = errors.New("the histogram has no samples")
)

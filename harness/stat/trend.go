package stat

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

const (
	// TrendMinN is the minimum number of values for which the normal approximation of the
	// Mann-Kendall test is valid.
	TrendMinN = 10
	// TrendMaxN is the maximum number of values. It bounds the work, which grows with the square of
	// that number.
	TrendMaxN = 1000
	// TrendAlpha is the p-value below which a trend is significant.
	TrendAlpha = 0.01
)

// Trend is the rise or fall of values that were measured at equal intervals.
type Trend struct {
	// Percent is the change from the start to the end of a line, as computed by EndToStart. The
	// line passes through the median of the values, and its slope is the median of the slopes of
	// all pairs of values (Theil 1950, Sen 1968). A few outliers do not affect it.
	Percent float64
	// Rise is the rise of the same line in the unit of the values.
	Rise   float64
	Median float64 // of the values
	// P is the two-sided p-value of the Mann-Kendall test (Mann 1945, Kendall 1975) in the normal
	// approximation, corrected for ties and continuity: the probability that values without a trend
	// show a trend at least as clear. The test assumes independent values. Rates of neighbouring
	// intervals are not quite independent and show a trend too often, so judge Percent too.
	P float64
}

// Significant reports whether the trend is significant at TrendAlpha.
func (t Trend) Significant() bool { return t.P < TrendAlpha }

// FindTrend returns the trend of TrendMinN to TrendMaxN values. It fails if a value is not finite,
// or if the median of the values, the reference of the relative rise, is not above zero.
func FindTrend(values []float64) (Trend, error) {
	n := len(values)
	if n < TrendMinN || n > TrendMaxN {
		return Trend{}, fmt.Errorf("a trend needs from %d to %d values, not %d", TrendMinN, TrendMaxN, n)
	}
	if err := checkFinite("find the trend", values); err != nil {
		return Trend{}, err
	}
	middle := median(slices.Clone(values))
	if middle <= 0 {
		return Trend{}, errors.New("the median of the values is not above zero: they have no trend in percent")
	}
	slopes := make([]float64, 0, n*(n-1)/2)
	score := 0
	for i, earlier := range values {
		for j := i + 1; j < n; j++ {
			rise := values[j] - earlier
			slopes = append(slopes, rise/float64(j-i))
			switch {
			case rise > 0:
				score++
			case rise < 0:
				score--
			}
		}
	}
	rise := median(slopes) * float64(n-1)
	return Trend{Percent: EndToStart(100 * rise / middle), Rise: rise, Median: middle, P: mannKendall(score, n, values)}, nil
}

// mannKendall returns the p-value of a score, the number of rising pairs of values minus the number
// of falling ones.
func mannKendall(score, n int, values []float64) float64 {
	term := func(k int) float64 { return float64(k) * float64(k-1) * float64(2*k+5) }
	variance := term(n)
	sorted := slices.Sorted(slices.Values(values))
	for i := 0; i < n; {
		tied := 1
		for i+tied < n && sorted[i+tied] == sorted[i] {
			tied++
		}
		variance -= term(tied)
		i += tied
	}
	variance /= 18
	if score == 0 || variance <= 0 {
		return 1
	}
	z := (math.Abs(float64(score)) - 1) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}

// startLeast is the lower bound of the start in EndToStart, relative to the middle of the line.
const startLeast = 0.01

// EndToStart converts the rise of a line, in percent of the line's middle, to the relative change
// from its start to its end in percent. A line can fall below zero, but a figure cannot lose more
// than 100 %, so the change is never below -100. A start below 1 % of the middle is treated as 1 %,
// so the change is always finite. The change increases with percent.
func EndToStart(percent float64) float64 {
	half := percent / 200
	start, end := max(startLeast, 1-half), max(0, 1+half)
	return 100 * (end/start - 1)
}

package gate

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// judgeBounded compares a metric that has one-sided 95 % bounds with a ceiling. The ceiling is met
// if the upper bound does not exceed it, so a value beyond the ceiling passes with a probability of
// at most 5 %. Otherwise the ceiling is broken if the lower bound is above 0, which chance alone
// causes with a probability of at most 5 %. Anything else is inconclusive.
func (f *Finding) judgeBounded(name string, m result.Metric, l Limit) {
	high := m.High
	f.Value = &high
	f.Margin = margin(l, high)
	shown, limit := render.Distinct(high, l.Value, 4)
	bounds := fmt.Sprintf("%s is %s, and 95 %% sure to be at least %s and at most %s", name, render.Digits(m.Median, 3), render.Digits(m.Low, 3), shown)
	switch {
	case high <= l.Value:
		f.OK, f.Sentence = true, fmt.Sprintf("%s, which is not above the ceiling %s", bounds, limit)
	case m.Low > l.Value:
		f.Sentence = fmt.Sprintf("%s: both are above the ceiling %s: %s", bounds, limit, l.Because)
	case m.Low > 0:
		f.Sentence = fmt.Sprintf("%s: the value is above 0 and may be above the ceiling %s: %s", bounds, limit, l.Because)
	default:
		f.Inconclusive = true
		f.Sentence = fmt.Sprintf("%s: the run cannot show whether the ceiling %s is met; use a longer window or a quieter host: %s", bounds, limit, l.Because)
	}
}

package gate

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// judgeBounded compares a metric that has one-sided 95 % bounds with a ceiling. The ceiling holds if the upper bound does not exceed it, so
// that a loss beyond the ceiling passes with a probability of 5 % at most. Otherwise the metric is worse than the ceiling allows if the lower
// bound is above 0, which chance alone causes with a probability of 5 % at most, and else the run does not tell.
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
		f.Sentence = fmt.Sprintf("%s: it is above 0, and may be above the ceiling %s: %s", bounds, limit, l.Because)
	default:
		f.Inconclusive = true
		f.Sentence = fmt.Sprintf("%s: the run does not tell whether it keeps the ceiling %s; a longer window or a quieter host does: %s", bounds, limit, l.Because)
	}
}

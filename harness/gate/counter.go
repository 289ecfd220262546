package gate

import (
	"fmt"
	"math"
	"slices"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// CounterRoundsMin is the minimum number of rounds of each side for Compare to judge counters.
const CounterRoundsMin = 3

// counterGap is the minimum change of a counter, as a multiple of the widest range of any arm's
// rounds.
const counterGap = 2

// counter compares a metric that counts the server's work for a cycle. A counter depends on the
// code and on how calls were batched, but hardly on the host's speed. A few rounds measure it to a
// fraction of a percent, but a rank test over three rounds cannot reach a useful level: the
// smallest p of three against three is 0.1.
//
// A counter has changed if the rule for timings detects a change at the counters' level, or if,
// with at least three rounds of each side,
//
//   - all rounds of the change lie beyond all rounds of the base and of the control, in one direction,
//   - the medians differ by the least effect or more, and
//   - they differ by at least twice the widest range of the rounds of any one arm.
//
// The false-alarm rate is bounded. If the sides do not differ, their rounds are exchangeable. With
// a control there are 3n rounds, and the probability that the n rounds of the change are the n
// highest is 1 / C(3n, n), for any distribution. For n = 3 this is 1 in 84. The gap of twice the
// range excludes all distributions except those of two values, for which the probability is at most
// (4/27)^n, or 1 in 307 for n = 3. For normally distributed rounds it is about 1 in 5,000, for any
// spread (a test verifies this).
func (j *judgement) counter(d *result.MetricDelta, values [][]float64) error {
	for i, side := range values {
		for _, v := range side {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				return fmt.Errorf("%s: a round of %s has the value %v", d.Metric, j.sides[i].name, v)
			}
		}
	}
	change, base := values[1], values[0]
	if len(values) > 2 {
		base = slices.Concat(base, values[2])
	}
	least := j.policy.least(d.Metric)
	if middle(base) == 0 || d.Base.Median == 0 {
		fromZero(d, base, change, least)
		return nil
	}
	d.Ratio = d.Change.Median / middle(base)
	d.RatioLow, d.RatioHigh = slices.Min(change)/middle(base), slices.Max(change)/middle(base)
	if len(values) > 2 {
		d.ControlRatio = middle(values[2]) / d.Base.Median
		d.ControlRatioLow, d.ControlRatioHigh = slices.Min(values[2])/d.Base.Median, slices.Max(values[2])/d.Base.Median
	}
	d.Warnings = append(d.Warnings, "low and high are the lowest and the highest round")
	if test, err := stat.MannWhitney(base, change, j.policy.level(true)); err == nil {
		d.P, d.PAdjusted = test.P, test.P
	}
	widest := 0.0
	for _, side := range values {
		widest = max(widest, (slices.Max(side)-slices.Min(side))/middle(base))
	}
	d.Detectable = max(d.Effect, counterGap*widest)
	shift := math.Abs(d.Ratio - 1)
	apart := slices.Min(change) > slices.Max(base) || slices.Max(change) < slices.Min(base)
	differs := fmt.Sprintf("is %s (%s to %s)", render.Change(d.Ratio), render.Change(d.RatioLow), render.Change(d.RatioHigh))
	switch {
	case len(change) < CounterRoundsMin || len(values[0]) < CounterRoundsMin:
		d.Outcome, d.Detectable = result.Unclear, 0
		d.Because = differs + fmt.Sprintf(": a counter needs %d rounds of each side", CounterRoundsMin)
	case math.Max(slices.Max(change), slices.Max(base))-math.Min(slices.Min(change), slices.Min(base)) < least:
		negligible(d, least)
	case apart && shift >= d.Detectable && math.Abs(d.Change.Median-d.Base.Median) >= least:
		d.Outcome = worse(d, d.Ratio)
		d.Because = differs + ": the rounds of the two sides do not overlap, and each side varies by " + render.PercentTo(widest, 2) + " at most"
	case j.paired && len(change) >= stat.MinPairs(j.policy.level(true)) && slices.Min(change) > 0 && slices.Min(base) > 0:
		d.Warnings = nil
		return j.timing(d, values) // its outcome comes after the correction
	case shift < d.Effect && d.Detectable <= d.Effect:
		d.Outcome = result.Same
		d.Because = differs + ": a change of " + render.Percent(d.Detectable) + " would have been found"
	default:
		d.Outcome = result.Unclear
		d.Because = differs + ": the rounds vary by " + render.Percent(widest) + " within one side"
	}
	return nil
}

// fromZero compares a counter with a base of 0, where no ratio exists.
func fromZero(d *result.MetricDelta, base, change []float64, least float64) {
	d.Ratio, d.RatioLow, d.RatioHigh = 1, 1, 1
	if slices.Max(change) == 0 && slices.Max(base) == 0 {
		d.Outcome, d.Because = result.Same, "is 0 on both sides"
		return
	}
	if max(slices.Max(change), slices.Max(base)) < least {
		negligible(d, least)
		return
	}
	d.Warnings = append(d.Warnings, "the base is 0, so no ratio exists")
	d.Outcome, d.Because = result.Unclear, fmt.Sprintf("was %s and is %s", render.Digits(d.Base.Median, 4), render.Digits(d.Change.Median, 4))
	if slices.Min(change) > least && slices.Max(base) == 0 && len(base) >= CounterRoundsMin && len(change) >= CounterRoundsMin {
		d.Outcome = worse(d, 2)
	}
}

func middle(values []float64) float64 {
	s, err := stat.Summarise(values)
	if err != nil {
		return math.NaN()
	}
	return s.Center
}

package gate

import (
	"fmt"
	"math"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

var percentileOf = map[string]float64{
	result.CycleLatencyMs + "_p50": 50, result.CycleLatencyMs + "_p90": 90, result.CycleLatencyMs + "_p95": 95,
	result.CycleLatencyMs + "_p99": 99, result.CycleLatencyMs + "_p999": 99.9,
}

// timing compares a metric that depends on the host's speed. judgement.correct sets the outcome
// later.
func (j *judgement) timing(d *result.MetricDelta, values [][]float64) error {
	bases, histograms := [][]float64{values[0]}, [][]*hdrhistogram.Histogram{j.sides[0].cycles}
	if len(values) > 2 && j.paired {
		bases, histograms = append(bases, values[2]), append(histograms, j.sides[2].cycles)
	}
	level := j.policy.level(j.policy.isCounter(d.Metric))
	test, sd, ratio, err := j.contrast(d.Metric, level, values[1], j.sides[1].cycles, bases, histograms)
	if err != nil {
		return fmt.Errorf("%s: %w", d.Metric, err)
	}
	d.P = test.P
	d.Ratio, d.RatioLow, d.RatioHigh = ratio.Center, ratio.Low, ratio.High
	d.Warnings = append(d.Warnings, ratio.Warnings...)
	if d.Detectable, err = stat.Detectable(ratio.N, sd, test.Alpha); err != nil {
		d.Detectable = 0
		d.Warnings = append(d.Warnings, err.Error())
	}
	if len(values) > 2 {
		_, _, noise, err := j.contrast(d.Metric, level, values[2], j.sides[2].cycles, bases[:1], histograms[:1])
		if err != nil {
			return fmt.Errorf("%s of the control: %w", d.Metric, err)
		}
		d.ControlRatio, d.ControlRatioLow, d.ControlRatioHigh = noise.Center, noise.Low, noise.High
	}
	return nil
}

// contrast compares the changed side with the base sides at the level alpha. It returns the test,
// the standard deviation of the differences of logarithms, and the ratio. For a percentile, the
// test ranks the percentiles of single rounds, and the ratio comes from the merged histograms of
// all rounds.
func (j *judgement) contrast(
	metric string, alpha float64, change []float64, changed []*hdrhistogram.Histogram, bases [][]float64, based [][]*hdrhistogram.Histogram,
) (test stat.Comparison, sd float64, ratio stat.Summary, err error) {
	if j.paired {
		test, sd, ratio, err = pairedContrast(change, bases, alpha, j.policy.Resamples)
	} else {
		test, sd, ratio, err = unpairedContrast(change, bases[0], alpha, j.policy.Resamples)
	}
	if p, ok := percentileOf[metric]; ok && err == nil {
		ratio, err = stat.PercentileRatio(changed, p, j.paired, j.policy.Resamples, based...)
	}
	return test, sd, ratio, err
}

func pairedContrast(change []float64, bases [][]float64, alpha float64, resamples int) (test stat.Comparison, sd float64, ratio stat.Summary, err error) {
	differences, err := stat.LogRatios(change, bases...)
	if err != nil {
		return test, sd, ratio, err
	}
	if test, err = stat.SignedRank(differences, alpha); err != nil {
		return test, sd, ratio, err
	}
	if sd, err = stat.StdDev(differences); err != nil {
		return test, sd, ratio, err
	}
	ratio, err = stat.PairedRatio(differences, resamples)
	return test, sd, ratio, err
}

func unpairedContrast(change, base []float64, alpha float64, resamples int) (test stat.Comparison, sd float64, ratio stat.Summary, err error) {
	if test, err = stat.MannWhitney(base, change, alpha); err != nil {
		return test, sd, ratio, err
	}
	if ratio, err = stat.UnpairedRatio(base, change, resamples); err != nil {
		return test, sd, ratio, err
	}
	variance := 0.0 // of the difference between the logarithms of one round of each side
	for _, side := range [][]float64{base, change} {
		logs := make([]float64, len(side))
		for i, v := range side {
			logs[i] = math.Log(v)
		}
		s, err := stat.StdDev(logs)
		if err != nil {
			return test, sd, ratio, err
		}
		variance += s * s
	}
	return test, math.Sqrt(variance), ratio, nil
}

// correct corrects the tests for multiple testing, separately for timings and counters, and sets
// the outcomes that are still empty.
func (j *judgement) correct(deltas []result.MetricDelta) {
	for _, counter := range []bool{false, true} {
		var ps []float64
		var of []*result.MetricDelta
		for i := range deltas {
			if d := &deltas[i]; j.policy.isCounter(d.Metric) == counter && d.Outcome == "" {
				ps, of = append(ps, d.P), append(of, d)
			}
		}
		for i, p := range stat.Holm(ps) {
			of[i].PAdjusted = p
			conclude(of[i], j.policy.alpha(counter), j.policy.least(of[i].Metric))
		}
	}
}

// conclude sets the outcome of a metric at the level alpha. A difference below leastUnits does not
// matter, regardless of the ratio.
func conclude(d *result.MetricDelta, alpha, leastUnits float64) {
	if math.Abs(d.Change.Median-d.Base.Median) < leastUnits {
		negligible(d, leastUnits)
		return
	}
	away := math.Abs(math.Log(d.Ratio))
	least := math.Log1p(d.Effect)
	if d.Ratio < 1 {
		least = -math.Log1p(-d.Effect)
	}
	// near is the distance from 1 to the nearer end of the interval; noise is the distance of the
	// control's ratio.
	near, noise := 0.0, 0.0
	if (d.RatioLow > 1) == (d.RatioHigh > 1) {
		near = min(math.Abs(math.Log(d.RatioLow)), math.Abs(math.Log(d.RatioHigh)))
	}
	if d.ControlRatio > 0 {
		noise = math.Abs(math.Log(d.ControlRatio))
	}
	matters, beyond, significant := away >= least, near > noise, d.PAdjusted <= alpha
	differs := fmt.Sprintf("is %s (%s to %s)", render.Change(d.Ratio), render.Change(d.RatioLow), render.Change(d.RatioHigh))
	if matters && beyond && significant {
		d.Outcome = worse(d, d.Ratio)
		d.Because = differs + fmt.Sprintf(": the control differs by %s, %s after correction", render.Change(d.ControlRatio), pText(d.PAdjusted))
		if d.ControlRatio == 0 {
			d.Because = differs + fmt.Sprintf(": %s after correction", pText(d.PAdjusted))
		}
		return
	}
	// reach is the end of the interval in the worse direction.
	reach := d.RatioHigh
	if d.Better == result.Higher {
		reach = 1 / d.RatioLow
	}
	steady := math.Expm1(noise) < d.Effect && reach < 1+d.Effect
	if !matters && steady && d.Detectable > 0 && d.Detectable <= d.Effect {
		d.Outcome = result.Same
		d.Because = differs + ": a change of " + render.Percent(d.Detectable) + " would have been found"
		return
	}
	d.Outcome = result.Unclear
	var why []string
	switch {
	case math.Expm1(noise) >= d.Effect:
		why = append(why, "the control, which is the same build, differs by "+render.Change(d.ControlRatio))
	case !matters && reach >= 1+d.Effect:
		why = append(why, "its interval includes a relevant change")
	case matters && near == 0:
		why = append(why, "its interval reaches 1")
	case matters && !beyond:
		why = append(why, "its interval is no further from 1 than the control's ratio, "+render.Change(d.ControlRatio))
	}
	if matters && !significant {
		why = append(why, fmt.Sprintf("%s after correction", pText(d.PAdjusted)))
	}
	switch {
	case d.Detectable == 0:
		why = append(why, "there are too few rounds to detect any change")
	case d.Detectable > d.Effect:
		why = append(why, fmt.Sprintf("these rounds can detect a change of %s, but %s matters", render.Percent(d.Detectable), render.Percent(d.Effect)))
	}
	d.Because = differs + ": " + strings.Join(why, "; ")
}

func negligible(d *result.MetricDelta, leastUnits float64) {
	d.Outcome = result.Same
	d.Because = fmt.Sprintf("differs by less than %s %s", render.Digits(leastUnits, 4), d.Unit)
}

func worse(d *result.MetricDelta, ratio float64) result.Outcomes {
	if (ratio > 1) == (d.Better == result.Higher) {
		return result.Improved
	}
	return result.Worsened
}

func pText(p float64) string {
	if p < 0.0001 {
		return "p < 0.0001"
	}
	return fmt.Sprintf("p = %.4f", p)
}

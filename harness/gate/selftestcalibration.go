package gate

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/result"
)

// CalibrationMetrics returns the figures used to calibrate a fault, for all kinds of change and
// checks that plant it.
func CalibrationMetrics(fault string) (metrics []string) {
	for _, k := range SelfTestKinds() {
		if k.Fault == fault && !slices.Contains(metrics, k.Metric) {
			metrics = append(metrics, k.Metric)
		}
	}
	if fault == CheckFault && !slices.Contains(metrics, result.CyclesPerS) {
		metrics = append(metrics, result.CyclesPerS)
	}
	return metrics
}

// Calibrate returns the effect of an amount of a fault on a figure, from a duet whose change has
// the fault. It fails if the duet does not show an increase, because the slope would be noise.
func Calibrate(d *result.Duet, fault, metric string, amount float64) (SelfTestCalibration, error) {
	c := SelfTestCalibration{Fault: fault, Metric: metric, Time: d.Started, Commit: d.Sides[1].Commit, Amount: amount}
	m, generations, err := figureOfDuet(d, metric)
	if err != nil {
		return c, fmt.Errorf("calibrate %s: %w", fault, err)
	}
	c.Generations = generations
	c.Excess, c.Low, c.High = excess(m)
	if len(d.Sides[1].Env) > 0 {
		c.Planted = d.Sides[1].Env[0]
	}
	if c.Low <= 0 {
		return c, fmt.Errorf("%s of a change with %s is not significantly worse (%+.1f %%, %+.1f to %+.1f %%): check that it was built with the tag planted",
			metric, c.Planted, 100*c.Excess, 100*c.Low, 100*c.High)
	}
	return c, nil
}

// figureOfDuet returns the gate's judgement of one figure of a duet, and the number of valid
// generations.
func figureOfDuet(d *result.Duet, metric string) (result.MetricDelta, int, error) {
	policy := DefaultDuetPolicy()
	policy.GenerationsMin = 2
	judged := JudgeDuet(d, 1, policy)
	at := slices.IndexFunc(judged.Metrics, func(m result.MetricDelta) bool { return m.Metric == metric && m.Loss != nil })
	if at < 0 {
		return result.MetricDelta{}, 0, fmt.Errorf("the duet has no figure %s: %s: %v", metric, judged.Verdict, judged.Reasons)
	}
	return judged.Metrics[at], judged.Blocks, nil
}

// excess returns the increase in CPU time per cycle, or in the time between cycles, as a fraction
// of the base's, with its 95 % confidence interval.
func excess(m result.MetricDelta) (more, low, high float64) {
	if m.Metric == result.CyclesPerS {
		return 1/m.Ratio - 1, 1/m.RatioHigh - 1, 1/m.RatioLow - 1
	}
	return m.Ratio - 1, m.RatioLow - 1, m.RatioHigh - 1
}

// calibrationWeighs is the weight of a calibration; a measured piece has the weight 1.
const calibrationWeighs = 2

// For returns the amount of the fault that causes the given loss in the metric. measured contains
// pieces with the fault and about that loss. They correct the calibration, because the amount for a
// small loss is not proportional to the cost of a large amount. A piece is used even if it shows no
// loss, unless fewer than two of its generations are valid. The result is within a factor of four
// of the amount by the calibration alone.
func (c SelfTestCalibration) For(loss float64, measured []SelfTestPiece) float64 {
	wanted := loss
	if c.Metric == result.CyclesPerS {
		wanted /= 1 - loss // the time between cycles is the inverse of their rate
	}
	calibrated := c.Amount * wanted / c.Excess
	amounts, excesses := calibrationWeighs*calibrated, calibrationWeighs*wanted
	for _, p := range measured {
		m, _, err := figureOfDuet(p.Duet, c.Metric)
		if err != nil {
			continue
		}
		more, _, _ := excess(m)
		amounts += p.Amount
		excesses += more
	}
	if excesses <= 0 {
		return 4 * calibrated
	}
	return min(max(amounts*wanted/excesses, calibrated/4), 4*calibrated)
}

package gate

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/result"
)

// CalibrationMetrics returns the figures that a fault is calibrated by, for all kinds of change and checks that plant it.
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

// Calibrate returns what an amount of a fault adds to a figure, from a duet whose change has the fault. It fails if the duet does not show
// that the amount adds anything: the slope would be noise.
func Calibrate(d *result.Duet, fault, metric string, amount float64) (SelfTestCalibration, error) {
	policy := DefaultDuetPolicy()
	policy.GenerationsMin = 2
	judged := JudgeDuet(d, 1, policy)
	at := slices.IndexFunc(judged.Metrics, func(m result.MetricDelta) bool { return m.Metric == metric && m.Loss != nil })
	if at < 0 {
		return SelfTestCalibration{}, fmt.Errorf("the calibration of %s has no figure %s: %s: %v", fault, metric, judged.Verdict, judged.Reasons)
	}
	m := judged.Metrics[at]
	c := SelfTestCalibration{
		Fault: fault, Metric: metric, Time: d.Started, Commit: d.Sides[1].Commit, Amount: amount, Generations: judged.Blocks,
		Excess: m.Ratio - 1, Low: m.RatioLow - 1, High: m.RatioHigh - 1,
	}
	if metric == result.CyclesPerS {
		c.Excess, c.Low, c.High = 1/m.Ratio-1, 1/m.RatioHigh-1, 1/m.RatioLow-1
	}
	if len(d.Sides[1].Env) > 0 {
		c.Planted = d.Sides[1].Env[0]
	}
	if c.Low <= 0 {
		return c, fmt.Errorf("%s of a change with %s is not worse for sure (%+.1f %%, %+.1f to %+.1f %%): was it built with the tag planted?",
			metric, c.Planted, 100*c.Excess, 100*c.Low, 100*c.High)
	}
	return c, nil
}

package gate

import (
	"errors"
	"fmt"
	"math"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// figureOf computes the figures of one side in one generation. measured is false if the side lacks
// the phase. A figure that is 0 or not finite could not be computed and is a failure.
var figureOf = map[string]func(result.GenerationSide) (v float64, measured bool){
	result.ServerCPUUsPerCycle: func(s result.GenerationSide) (float64, bool) { return usPerCycle(s.ServerCPUNs, s.Cycles), true },
	result.ClientCPUUsPerCycle: func(s result.GenerationSide) (float64, bool) { return usPerCycle(s.ClientCPUNs, s.Cycles), true },
	result.CyclesPerS:          func(s result.GenerationSide) (float64, bool) { return float64(s.Cycles) / s.ActiveS, true },
	result.CycleLatencyMs + "_p50": func(s result.GenerationSide) (float64, bool) {
		return openFigure(s.Open, func(o *result.DuetLatency) float64 { return o.P50Ms })
	},
	result.CycleLatencyMs + "_p99": func(s result.GenerationSide) (float64, bool) {
		return openFigure(s.Open, func(o *result.DuetLatency) float64 { return o.P99Ms })
	},
	result.CycleLatencyMs + "_p95": func(s result.GenerationSide) (float64, bool) {
		return openFigure(s.Open, func(o *result.DuetLatency) float64 { return o.P95Ms })
	},
	result.EnqueueLatencyMs + "_p50": enqueueFigure(func(e *result.DuetEnqueue) float64 { return e.P50Ms }),
	result.EnqueueLatencyMs + "_p95": enqueueFigure(func(e *result.DuetEnqueue) float64 { return e.P95Ms }),
	result.EnqueueLatencyMs + "_p99": enqueueFigure(func(e *result.DuetEnqueue) float64 { return e.P99Ms }),
	result.ServerAllocsPerCycle:      counted(result.ServerAllocsPerCycle),
	result.ServerAllocBytesPerCycle:  counted(result.ServerAllocBytesPerCycle),
	result.StorageFsyncsPerCycle:     counted(result.StorageFsyncsPerCycle),
	result.ServerRSSMBMax:            func(s result.GenerationSide) (float64, bool) { return s.RSSMB, s.RSSMB > 0 },
	result.ServerGoroutinesMax:       func(s result.GenerationSide) (float64, bool) { return float64(s.Goroutines), s.Goroutines > 0 },
}

func enqueueFigure(of func(*result.DuetEnqueue) float64) func(result.GenerationSide) (float64, bool) {
	return func(s result.GenerationSide) (float64, bool) {
		if s.Open == nil || s.Open.Enqueue == nil {
			return 0, false
		}
		return of(s.Open.Enqueue), true
	}
}

func counted(metric string) func(result.GenerationSide) (float64, bool) {
	return func(s result.GenerationSide) (float64, bool) {
		v, has := s.PerCycle[metric]
		return v, has
	}
}

func usPerCycle(ns int64, cycles uint64) float64 { return float64(ns) / 1000 / float64(cycles) }

func openFigure(o *result.DuetLatency, of func(*result.DuetLatency) float64) (float64, bool) {
	if o == nil {
		return 0, false
	}
	return of(o), true
}

func (j *duetJudgement) primaries() {
	var judged []judgedPrimary
	for _, p := range j.policy.Primaries {
		spec, _ := result.Lookup(p.Metric)
		d := result.MetricDelta{Metric: p.Metric, Unit: spec.Unit, Better: spec.Better, Effect: j.policy.Least, P: 1, PAdjusted: 1, Loss: &result.Loss{Margin: p.Margin}}
		values, numbers, err := j.figures(p.Metric)
		switch {
		case errors.Is(err, errNotMeasured):
			continue
		case errors.Is(err, errNotComparable):
			d.Outcome, d.Because = result.Unclear, err.Error()
		case err != nil:
			fail(j.c, result.Invalid, err.Error())
			continue
		default:
			judged = append(judged, j.primary(p, &d, spec, values, numbers))
			judged[len(judged)-1].at = len(j.c.Metrics)
		}
		j.c.Metrics = append(j.c.Metrics, d)
	}
	if len(j.c.Metrics) == 0 && j.c.Verdict == result.Pass {
		fail(j.c, result.Invalid, "no primary was measured: there is nothing to judge")
	}
	j.conclude(judged)
}

var (
	errNotMeasured   = errors.New("neither side has the figure")
	errNotComparable = errors.New("cannot be compared")
)

// figures returns a primary's figures of base and change, and the numbers of their generations. It
// fails if a figure is not above 0, or if only some generations have the figure.
func (j *duetJudgement) figures(metric string) (values [2][]float64, numbers []int, err error) {
	var missing [2][]int
	found := false
	for _, g := range j.generations {
		for i, s := range g.Sides {
			v, measured := figureOf[metric](s)
			switch {
			case !measured:
				missing[i] = append(missing[i], g.Number)
				continue
			case !(v > 0) || math.IsInf(v, 0):
				return values, nil, fmt.Errorf("%s of the %s is %v in generation %d: a figure must be above 0", metric, sideName(i), v, g.Number)
			}
			found = true
			values[i] = append(values[i], v)
		}
		numbers = append(numbers, g.Number)
	}
	if !found {
		return values, nil, errNotMeasured
	}
	for i, of := range missing {
		if len(of) > 0 {
			return values, nil, fmt.Errorf("%w: the %s has no such figure in generations %v", errNotComparable, sideName(i), of)
		}
	}
	return values, numbers, nil
}

func sideName(i int) string { return []string{baseArm, changeArm}[i] }

type judgedPrimary struct {
	Primary
	at   int // index in the metrics of the comparison
	mean stat.Mean
	sign float64 // 1 if lower is better, else -1; the loss is sign times the logarithm of the ratio
}

// primary estimates the loss of a primary over two or more generations.
func (j *duetJudgement) primary(p Primary, d *result.MetricDelta, spec result.Spec, values [2][]float64, numbers []int) judgedPrimary {
	judged := judgedPrimary{Primary: p, sign: 1}
	if spec.Better == result.Higher {
		judged.sign = -1
	}
	d.Base, _ = result.MedianOf(values[0], spec) // the figures are finite
	d.Change, _ = result.MedianOf(values[1], spec)
	d.Loss.Numbers = numbers
	logs := make([]float64, len(numbers))
	for i := range logs {
		ratio := values[1][i] / values[0][i]
		d.Loss.Generations = append(d.Loss.Generations, ratio)
		logs[i] = judged.sign * math.Log(ratio)
	}
	judged.mean, _ = stat.TrimmedMean(logs, p.Trim) // enough values, all finite
	d.Ratio = math.Exp(judged.sign * judged.mean.Center)
	low, high := judged.mean.Lower((1-stat.Level)/2), judged.mean.Upper((1-stat.Level)/2)
	d.RatioLow, d.RatioHigh = math.Exp(judged.sign*low), math.Exp(judged.sign*high)
	if judged.sign < 0 {
		d.RatioLow, d.RatioHigh = d.RatioHigh, d.RatioLow
	}
	control(d, j.generations)
	return judged
}

// logOf returns the mean of the logarithms that corresponds to a loss.
func (p judgedPrimary) logOf(loss float64) float64 { return p.sign * math.Log1p(p.sign*loss) }

func (p judgedPrimary) lossOf(log float64) float64 { return p.sign * math.Expm1(p.sign*log) }

// conclude sets the outcomes of the primaries, corrected for multiple testing.
func (j *duetJudgement) conclude(judged []judgedPrimary) {
	alpha := j.policy.spent(j.look)
	losses, gains, weights := make([]float64, len(judged)), make([]float64, len(judged)), make([]float64, len(judged))
	for i, p := range judged {
		losses[i] = p.mean.PAbove(p.logOf(j.policy.Least))
		gains[i] = 1 - p.mean.PAbove(p.logOf(-j.policy.Least))
		weights[i] = p.Weight
	}
	steps, better := stat.HolmWeighted(losses, weights, alpha), stat.HolmWeighted(gains, weights, alpha)
	for i, p := range judged {
		d := &j.c.Metrics[p.at]
		l := d.Loss
		d.P, d.PAdjusted = losses[i], steps[i].Adjusted
		l.Estimate, l.StdErr, l.Level = p.lossOf(p.mean.Center), p.mean.StdErr, steps[i].Level
		l.Low, l.High = p.lossOf(p.mean.Lower(l.Level)), p.lossOf(p.mean.Upper(passAlpha))
		d.Detectable = p.lossOf(p.mean.DetectableAbove(p.logOf(j.policy.Least), l.Level))
		j.suspected = j.suspected || !p.AlarmOnly && losses[i] <= suspectAlpha
		if l.Estimate > 0 {
			d.Because = fmt.Sprintf("is worse by %s", percent(l.Estimate))
		} else {
			d.Because = fmt.Sprintf("is better by %s", percent(-l.Estimate))
		}
		switch {
		case d.PAdjusted <= alpha:
			d.Outcome = result.Worsened
			d.Because += fmt.Sprintf(": at least %s, %s after correction", percent(l.Low), pText(d.PAdjusted))
		case better[i].Adjusted <= alpha:
			d.Outcome = result.Improved
			d.Because += fmt.Sprintf(": %s after correction", pText(better[i].Adjusted))
		case l.High < p.Margin:
			d.Outcome = result.Same
			d.Because += fmt.Sprintf(": a loss of %s or more is excluded", percent(l.High))
		case p.AlarmOnly:
			d.Outcome = result.Unclear
			d.Because += fmt.Sprintf(": the loss may be up to %s, which does not prevent a pass for this figure; a loss of %s is not certain", percent(l.High), percent(j.policy.Least))
		default:
			d.Outcome = result.Unclear
			d.Because += fmt.Sprintf(": the loss may be up to %s, but a pass must exclude %s; a loss of %s is not certain", percent(l.High), render.Percent(p.Margin), percent(j.policy.Least))
		}
	}
}

func percent(part float64) string { return render.PercentTo(part, 2) }

package gate

import (
	"fmt"
	"math"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
)

// worseAlpha is the significance level of the test whether a figure is worse.
const worseAlpha = 0.05

// sidesRatio contains a figure of both sides at one point of one generation.
type sidesRatio struct {
	base, change float64
	// log is the logarithm of change / base, or of base / change if a higher figure is better. If
	// it is above 0, the change is worse.
	log float64
}

// pointRatio returns a figure at point k of a generation. It fails if the figure of a side is
// missing or not above 0.
func pointRatio(g result.Generation, k int, metric string) (r sidesRatio, err error) {
	p := g.Points[k]
	var values [2]float64
	for i, s := range p.Sides {
		s.RSSMB = g.Sides[i].RSSMB // the same servers serve all points
		of := figureOf[metric]
		if of == nil {
			return r, fmt.Errorf("a duet does not measure %q", metric)
		}
		v, measured := of(s)
		if !measured || !(v > 0) || math.IsInf(v, 0) {
			return r, fmt.Errorf("%s of the %s is %v at %s in generation %d: a figure must be above 0", metric, sideName(i), v, p.Name, g.Number)
		}
		values[i] = v
	}
	r = sidesRatio{base: values[0], change: values[1], log: math.Log(values[1] / values[0])}
	if spec, _ := result.Lookup(metric); spec.Better == result.Higher {
		r.log = -r.log
	}
	return r, nil
}

// figures judges each metric over all points and at each point. It skips a metric that is missing
// in any generation, for example because a server does not count it or because there were no
// fsyncs.
func (t *ratcheting) figures() {
	var overall, each []result.RatchetFigure
	for _, metric := range scenario.ScoreMetrics() {
		if f, ok := t.figure(metric, -1); ok {
			overall = append(overall, f)
		}
		if metric == result.ServerRSSMBMax {
			continue
		}
		for k := range t.r.Points {
			if f, ok := t.figure(metric, k); ok {
				each = append(each, f)
			}
		}
	}
	correct(overall)
	correct(each)
	t.r.Figures = overall
	for _, all := range [][]result.RatchetFigure{overall, each} {
		for _, f := range all {
			if f.P <= worseAlpha {
				t.r.Worse = append(t.r.Worse, f)
			}
		}
	}
}

func correct(all []result.RatchetFigure) {
	ps := make([]float64, len(all))
	for i, f := range all {
		ps[i] = f.P
	}
	for i, p := range stat.Holm(ps) {
		all[i].P = p
	}
}

// figure returns a metric at a point, or over all points if point is -1.
func (t *ratcheting) figure(metric string, point int) (f result.RatchetFigure, ok bool) {
	spec, known := result.Lookup(metric)
	if !known {
		return f, false
	}
	first, last := 0, t.r.Points-1
	if point >= 0 {
		first, last = point, point
		f.Point = t.generations[0].Points[point].Name
	}
	logs := make([]float64, len(t.generations))
	n := float64(last - first + 1)
	var base, change float64
	for i, g := range t.generations {
		for k := first; k <= last; k++ {
			ratio, err := pointRatio(g, k, metric)
			if err != nil {
				return f, false
			}
			logs[i] += ratio.log / n
			base, change = base+math.Log(ratio.base), change+math.Log(ratio.change)
		}
	}
	mean, err := stat.TrimmedMean(logs, trimOf(metric))
	if err != nil {
		return f, false
	}
	f.Metric, f.Unit, f.Better, f.P = metric, spec.Unit, spec.Better, mean.PAbove(0)
	all := n * float64(len(logs))
	f.Base, f.Change = math.Exp(base/all), math.Exp(change/all)
	f.Ratio, f.Low, f.High = math.Exp(mean.Center), math.Exp(mean.Lower((1-stat.Level)/2)), math.Exp(mean.Upper((1-stat.Level)/2))
	if spec.Better == result.Higher {
		f.Ratio, f.Low, f.High = 1/f.Ratio, 1/f.High, 1/f.Low
	}
	return f, true
}

// counters adds the counters from fixed work that rose. They are equal in each run of a build, so
// any rise is certain.
func (t *ratcheting) counters(w *result.FixedWork) {
	if w == nil {
		return
	}
	t.r.Warnings = append(t.r.Warnings, w.Warnings...)
	if w.Cycles == 0 {
		return // a warning explains it
	}
	for _, counter := range result.WorkCounters() {
		values, counted := w.Counters[counter.Name]
		if !counted || !plausible(values[0]) || !plausible(values[1]) {
			continue
		}
		if d := workDelta(counter, values, w.Cycles); d.Outcome == result.Worsened {
			t.r.Worse = append(t.r.Worse, result.RatchetFigure{
				Metric: d.Metric, Unit: d.Unit, Better: d.Better, Base: d.Base.Median, Change: d.Change.Median, Ratio: d.Ratio, Low: d.RatioLow, High: d.RatioHigh,
			})
		}
	}
}

package gate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// work judges the counters from fixed work. Both sides did the same operations, one after the
// other, so most counters are equal in each run of a build and any difference comes from the
// change. A counter has regressed if it rose by more than its tolerance, which is 0 for most
// counters, and improved if it fell by more. A difference that the change declares is expected,
// whatever its direction and size. A declaration of a counter that does not differ is a warning.
func (j *duetJudgement) work(w *result.FixedWork) {
	if w == nil {
		return
	}
	j.c.Warnings = append(j.c.Warnings, w.Warnings...)
	if w.Cycles == 0 {
		fail(j.c, result.Invalid, "no cycle of fixed work was compared: "+strings.Join(w.Warnings, "; "))
		return
	}
	for _, counter := range result.WorkCounters() {
		values, counted := w.Counters[counter.Name]
		if !counted {
			continue // a warning of the fixed work explains it
		}
		if !plausible(values[0]) || !plausible(values[1]) {
			fail(j.c, result.Invalid, fmt.Sprintf("fixed work: %s is %v on the base and %v on the change, which are not counts", counter.Name, values[0], values[1]))
			continue
		}
		d := workDelta(counter, values, w.Cycles)
		if reason, declared := w.Expected[counter.Name]; declared {
			if d.Outcome == result.Same {
				j.c.Warnings = append(j.c.Warnings, fmt.Sprintf("the change declares a difference of %s (%s), but the counter does not differ: remove the declaration", counter.Name, reason))
			} else {
				d.Outcome = result.Expected
				d.Because += ". The change declares this: " + reason
			}
		}
		j.c.Metrics = append(j.c.Metrics, d)
	}
	if sets := w.Counters[result.WorkStorageSets]; sets[0] == 0 || sets[1] == 0 {
		fail(j.c, result.Invalid, "the fixed work counted no keys set in the store: either no work was done or the server does not count it")
	}
	j.showWork(w)
}

func plausible(v float64) bool { return finite(v) && v >= 0 }

func workDelta(counter result.WorkCounter, values [2]float64, cycles uint64) result.MetricDelta {
	each := [2]float64{values[0] / float64(cycles), values[1] / float64(cycles)}
	d := result.MetricDelta{
		Metric: counter.Metric(), Unit: counter.Unit, Better: result.Lower, P: 1, PAdjusted: 1,
		Effect: counter.Tolerance, Detectable: counter.Tolerance, Outcome: result.Same,
		Base: once(each[0], counter.Unit), Change: once(each[1], counter.Unit), Ratio: 1, RatioLow: 1, RatioHigh: 1,
	}
	switch {
	case values[0] > 0:
		d.Ratio = values[1] / values[0]
		d.RatioLow, d.RatioHigh = d.Ratio, d.Ratio
	case values[1] > 0:
		d.Warnings = append(d.Warnings, "the base is 0, so no ratio exists")
	}
	more := values[1] - values[0]
	if more == 0 {
		d.Because = "is equal: " + render.Count(uint64(values[0])) + " in " + render.Count(cycles) + " cycles of the same work"
		return d
	}
	direction := "more"
	if more < 0 {
		direction = "fewer"
	}
	base, change := render.Distinct(each[0], each[1], 4)
	d.Because = fmt.Sprintf("was %s %s and is %s: %s %s in %s cycles of the same work",
		base, counter.Unit, change, render.Count(uint64(math.Abs(more))), direction, render.Count(cycles))
	switch {
	case !counter.Differs(values):
		d.Because += ", within the tolerance between two runs of one build"
	case more > 0:
		d.Outcome = result.Worsened
	default:
		d.Outcome = result.Improved
	}
	return d
}

func once(v float64, unit string) result.Metric {
	return result.Metric{Median: v, Low: v, High: v, N: 1, Unit: unit}
}

func (j *duetJudgement) showWork(w *result.FixedWork) {
	for _, name := range slices.Sorted(maps.Keys(w.Shown)) {
		v := w.Shown[name]
		j.c.Duet.Shown = append(j.c.Duet.Shown, result.DuetFigure{
			Name: "fixed work, " + name, Unit: "per cycle", Base: v[0] / float64(w.Cycles), Change: v[1] / float64(w.Cycles),
		})
	}
}

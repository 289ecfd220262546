package gate

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// ofBaselineName is the attribute of a limit on the ratio to the baseline build's figure.
const ofBaselineName = "of_baseline"

// kindOf returns the kind of limit that protects a metric from getting worse.
func kindOf(spec result.Spec) Kind {
	if spec.Better == result.Higher {
		return Floor
	}
	return Ceiling
}

// readOfBaseline reads { of_baseline because } of a limit on a metric.
func readOfBaseline(b *hclfile.Block, l Limit, spec result.Spec) Limit {
	l.OfBaseline = true
	value, given := b.Number(ofBaselineName, hclfile.NumberSpec{Example: "0.92"})
	l.Value = value
	if !given || spec.Name == "" { // both are reported elsewhere
		return l
	}
	if why := unfitRatio(l, spec); why != "" {
		b.AttrProblem(ofBaselineName, fmt.Sprintf("of_baseline = %v on %s: %s", value, spec.Name, why), "correct or remove it")
	}
	for _, bound := range []string{"min", "max"} {
		if b.Has(bound) {
			b.AttrProblem(bound, "of_baseline and "+bound+" exclude each other", "write two blocks, one for each bound")
		}
	}
	for _, other := range []string{"point", "relative_to_point", "workload", "observed", "on", "unobserved"} {
		if b.Has(other) {
			b.AttrProblem(other, "a ratio to the baseline build covers the whole scenario, and each run measures it again", "remove "+other)
		}
	}
	return l
}

func unfitRatio(l Limit, spec result.Spec) string {
	switch {
	case spec.OfLedger():
		return "no task may be at fault, whatever the baseline build does"
	case spec.Bounded:
		return "the metric is judged by its bounds, and bounds of two builds have no ratio"
	case !finite(l.Value) || l.Value <= 0:
		return "a ratio must be above 0"
	case l.Kind == Floor && l.Value > 1:
		return "the baseline build would break a floor above 1"
	case l.Kind == Ceiling && l.Value < 1:
		return "the baseline build would break a ceiling below 1"
	}
	return ""
}

// NeedsBaseline reports whether a scenario's limits are relative to the baseline build.
func (b *Baselines) NeedsBaseline(s *scenario.Scenario) bool {
	baseline, _ := b.For(s.Name)
	return slices.ContainsFunc(baseline.Limits, func(l Limit) bool { return l.OfBaseline }) ||
		slices.ContainsFunc(s.Limits, func(l scenario.Limit) bool { return l.OfBaseline != nil })
}

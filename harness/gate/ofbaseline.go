package gate

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// ofBaselineName is the attribute of a limit that is a ratio to the baseline build's figure.
const ofBaselineName = "of_baseline"

// kindOf returns which kind of limit keeps a metric from getting worse.
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
	l.Value, l.Because = value, readBecause(b)
	if !given || spec.Name == "" { // either has its own problem
		return l
	}
	if why := unfitRatio(l, spec); why != "" {
		b.AttrProblem(ofBaselineName, fmt.Sprintf("of_baseline = %v on %s: %s", value, spec.Name, why), "correct or remove it")
	}
	for _, bound := range []string{"min", "max"} {
		if b.Has(bound) {
			b.AttrProblem(bound, "of_baseline has "+bound+" beside it", "write two blocks, one for each bound")
		}
	}
	for _, other := range []string{"point", "relative_to_point", "workload", "observed", "on", "unobserved"} {
		if b.Has(other) {
			b.AttrProblem(other, "a ratio to the baseline build is of the whole scenario, and each run measures it anew", "remove "+other)
		}
	}
	return l
}

// unfitRatio says why a limit cannot be a ratio to the baseline build; "" if it can.
func unfitRatio(l Limit, spec result.Spec) string {
	switch {
	case spec.OfLedger():
		return "a task at fault is one too many, whatever the baseline build does"
	case spec.Bounded:
		return "the metric is judged by its bounds, and bounds of two builds have no ratio"
	case !finite(l.Value) || l.Value <= 0:
		return "a ratio is above 0"
	case l.Kind == Floor && l.Value > 1:
		return "a floor above 1 is broken by the baseline build itself"
	case l.Kind == Ceiling && l.Value < 1:
		return "a ceiling below 1 is broken by the baseline build itself"
	}
	return ""
}

// NeedsBaseline reports whether a scenario's limits are relative to the baseline build.
func (b *Baselines) NeedsBaseline(s *scenario.Scenario) bool {
	baseline, _ := b.For(s.Name)
	return slices.ContainsFunc(baseline.Limits, func(l Limit) bool { return l.OfBaseline }) ||
		slices.ContainsFunc(s.Limits, func(l scenario.Limit) bool { return l.OfBaseline != nil })
}

package gate

import (
	"slices"

	"github.com/pronybench/prony/harness/result"
)

// implied are the limits of every scenario, with a baseline or without. A baseline may name them, and may not loosen them.
var implied = []Limit{
	{Metric: result.Lost, Kind: Ceiling, Because: "an acknowledged task is never lost"},
	{Metric: result.Duplicated, Kind: Ceiling, Because: "a task is completed once"},
	{Metric: result.Corrupted, Kind: Ceiling, Because: "a payload is claimed as it was enqueued"},
}

// hasLedger reports whether r should have counts of lost, duplicated and corrupted tasks. A result with rounds has them, and so does one
// that names any of them. A run that failed before its first round has neither, so the implied limits do not apply to it.
func hasLedger(r *result.Result) bool {
	return len(r.Rounds) > 0 || slices.ContainsFunc(implied, func(l Limit) bool {
		_, has := r.Metrics[l.Metric]
		return has
	})
}

// limitsOf returns the limits to judge r by: those given, and the implied ones.
func limitsOf(limits []Limit, r *result.Result) []Limit {
	if !hasLedger(r) {
		return limits
	}
	return withImplied(limits)
}

// withImplied returns limits, and after them the implied ones that they do not name.
func withImplied(limits []Limit) []Limit {
	all := slices.Clone(limits)
	for _, l := range implied {
		if !slices.ContainsFunc(limits, func(o Limit) bool { return o.Metric == l.Metric }) {
			all = append(all, l)
		}
	}
	return all
}

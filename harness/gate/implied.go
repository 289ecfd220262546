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

package gate

import (
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// implied are the limits of every scenario, with or without a baseline. A baseline may repeat them
// but cannot loosen them.
var implied = []Limit{
	{Metric: result.Lost, Kind: Ceiling, Because: "an acknowledged task is never lost"},
	{Metric: result.Duplicated, Kind: Ceiling, Because: "a task is completed once"},
	{Metric: result.Corrupted, Kind: Ceiling, Because: "a payload is claimed as it was enqueued"},
}

// impliedOfReads is the limit of every scenario whose load reads tasks.
var impliedOfReads = Limit{Metric: result.ReadMismatches, Kind: Ceiling, Because: "a tenant reads its own tasks as they were enqueued, and no others"}

// reads reports whether the rounds of r should have read tasks: its scenario reads at some point,
// or r counted reads.
func reads(r *result.Result) bool {
	_, has := r.Metrics[result.ReadMismatches]
	return has || scenarioReads(&r.Manifest.Scenario) ||
		slices.ContainsFunc(r.Rounds, func(round result.Round) bool { return round.Ledger.Reads > 0 })
}

func scenarioReads(s *scenario.Scenario) bool {
	return scenario.Any(s.Workloads, scenario.Workload.ReadsTasks) ||
		slices.ContainsFunc(s.Sweeps, func(sweep scenario.Sweep) bool { return sweepsReads(sweep.Path) })
}

// sweepsReads reports whether a sweep's path is, or includes, that of the reads of a workload.
func sweepsReads(path string) bool {
	return strings.HasSuffix(path, ".reads") || strings.Contains(path, ".reads,")
}

// hasLedger reports whether r should have counts of lost, duplicated and corrupted tasks. This is
// true if the result contains rounds or any of these metrics. A run that failed before its first
// round has none, so the implied limits do not apply to it.
func hasLedger(r *result.Result) bool {
	return len(r.Rounds) > 0 || slices.ContainsFunc(implied, func(l Limit) bool {
		_, has := r.Metrics[l.Metric]
		return has
	})
}

func limitsOf(limits []Limit, r *result.Result) []Limit {
	if !hasLedger(r) {
		return limits
	}
	return withImplied(limits, reads(r))
}

// withImplied appends to limits the implied ones that they do not name. The limit on reads applies
// only if the load reads.
func withImplied(limits []Limit, reads bool) []Limit {
	all, holding := slices.Clone(limits), slices.Clone(implied)
	if reads {
		holding = append(holding, impliedOfReads)
	}
	for _, l := range holding {
		if !slices.ContainsFunc(limits, func(o Limit) bool { return o.Metric == l.Metric }) {
			all = append(all, l)
		}
	}
	return all
}

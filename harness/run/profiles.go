package run

import (
	"maps"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
)

// profiles adds up what the profiled rounds captured.
func (r *runner) profiles() (err error) {
	if len(r.captured) == 0 {
		return nil
	}
	r.result.Profiles, r.result.Locks, err = profile.Merge(r.folder.Path(), r.captured)
	return err
}

// overheads adds to the metrics of a point what profiling cost its rounds.
func overheads(metrics map[string]result.Metric, p scenario.Point, rounds []result.Round) error {
	closed := !scenario.Any(p.Workloads, func(w scenario.Workload) bool { return w.Arrivals.Kind != scenario.Closed })
	found, err := result.ProfilingOverheads(rounds, closed, stat.Estimate)
	if err != nil || metrics == nil {
		return err
	}
	maps.Copy(metrics, found)
	return nil
}

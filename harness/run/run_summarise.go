package run

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// summarise computes the metrics of the run, or of each of its points if it has a sweep.
func (r *runner) summarise() (err error) {
	res := &r.result
	if len(r.scenario.Points) == 0 && r.leftOut[0] {
		return nil
	}
	if len(r.scenario.Points) == 0 {
		res.Metrics, err = result.Summarise(res.Rounds, r.histograms, r.parts(r.points[0])...)
		err = errors.Join(err, overheads(res.Metrics, r.points[0], res.Rounds))
		if err == nil {
			res.Workloads, err = r.summariseWorkloads(r.points[0], res.Rounds)
		}
		return err
	}
	var errs []error
	res.Metrics = result.SummariseLedger(res.Rounds)
	costs, err := r.rateCosts()
	if err != nil {
		errs = append(errs, err)
	}
	for i, p := range r.points {
		if r.leftOut[i] {
			continue
		}
		rounds := slices.DeleteFunc(slices.Clone(res.Rounds), func(round result.Round) bool { return round.Point != i+1 })
		metrics, err := result.Summarise(rounds, r.histograms, r.parts(p)...)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Name, err))
		}
		if err := overheads(metrics, p, rounds); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Name, err))
		}
		if cost, found := costs[i+1]; found && metrics != nil {
			metrics[result.RateCost] = cost
		}
		workloads, err := r.summariseWorkloads(p, rounds)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Name, err))
		}
		point := r.pointOf(i)
		point.Metrics, point.Workloads = metrics, workloads
		res.Points = append(res.Points, point)
	}
	return errors.Join(errs...)
}

func (r *runner) pointOf(i int) result.Point {
	p := r.points[i]
	point := result.Point{Number: i + 1, Name: p.Name, Metrics: map[string]result.Metric{}}
	for _, v := range p.Values {
		point.Values = append(point.Values, result.Value{Path: v.Path, Key: scenario.ShortPath(v.Path, r.scenario.Sweeps), Text: v.Text})
	}
	return point
}

// rateCosts compares each point of a sweep with a base point. The base point has the first value of
// the first sweep, and the same values of all other sweeps. rateCosts returns nil unless all points
// have a closed load, because an open load's rate is given and does not show the cost.
func (r *runner) rateCosts() (map[int]result.Metric, error) {
	for _, p := range r.points {
		if scenario.Any(p.Workloads, func(w scenario.Workload) bool { return w.Arrivals.Kind != scenario.Closed || w.EnqueuesAlone() }) {
			return nil, nil
		}
	}
	// same is the number of points for each value of the first sweep, which changes slowest.
	same := len(r.points) / len(r.scenario.Sweeps[0].Values)
	against := make([]int, len(r.points))
	for i := range against {
		if !r.leftOut[i] && !r.leftOut[i%same] {
			against[i] = i%same + 1
		}
	}
	return result.RateCosts(r.result.Rounds, against)
}

// parts returns the parts that every round of a point has. If a metric of these parts is missing,
// the result is incomplete.
func (r *runner) parts(p scenario.Point) []result.Part {
	parts := partsOfLoad(p.Workloads...)
	loaded := slices.Contains(parts, result.OfLoad)
	switch p.Topology.Kind {
	case scenario.NoTopology:
		parts = append(parts, result.NoServer)
	case scenario.Embedded:
		parts = append(parts, result.InOneProcess)
	case scenario.Remote:
		parts = append(parts, result.Elsewhere)
	case scenario.ByProgram:
		// the servers may be remote or killed, and then have no process figures
		parts = append(parts, result.Elsewhere)
	}
	if b := r.scenario.Backlog; b != nil && !scenario.Any(p.Workloads, scenario.Workload.ClaimsAlone) {
		parts = append(parts, result.OfBacklog)
		if b.Restart != "none" {
			parts = append(parts, result.OfRestart)
		}
		if b.Reference > 0 {
			parts = append(parts, result.OfReference)
		}
	}
	if p.Topology.Clustered() && loaded && !slices.ContainsFunc(r.scenario.Faults, endsProcess) {
		parts = append(parts, result.OfRaft)
	}
	if len(r.scenario.Faults) > 0 {
		parts = append(parts, result.OfFaults)
	}
	if r.scenario.Recurring != nil {
		parts = append(parts, result.OfRecurring)
	}
	if r.scenario.SeriesEvery > 0 && loaded {
		parts = append(parts, result.OfSeries)
	}
	return parts
}

func endsProcess(f scenario.Fault) bool { return scenario.EndsProcess(f.Kind) }

// partsOfLoad returns the union of the workloads' parts. If one workload is open, the whole load is
// open.
func partsOfLoad(workloads ...scenario.Workload) []result.Part {
	var parts []result.Part
	if scenario.Any(workloads, func(w scenario.Workload) bool { return w.Arrivals.Kind != scenario.None && !w.EnqueuesAlone() }) {
		parts = append(parts, result.OfLoad)
	}
	if scenario.Any(workloads, scenario.Workload.EnqueuesAlone) {
		parts = append(parts, result.OfEnqueue)
	}
	if scenario.Any(workloads, scenario.Workload.ClaimsAlone) {
		parts = append(parts, result.ClaimsAlone)
	}
	if scenario.Any(workloads, func(w scenario.Workload) bool { return w.Arrivals.Timed() }) {
		parts = append(parts, result.OfOpen)
	}
	for _, kind := range scenario.ReadKinds() {
		if scenario.Any(workloads, func(w scenario.Workload) bool { return slices.Contains(w.Reads.Kinds(), kind) }) {
			parts = append(parts, result.PartOfReads(kind))
		}
	}
	if len(workloads) == 1 && workloads[0].TenantsAlike() {
		parts = append(parts, result.OfTenants)
	}
	if scenario.Any(workloads, func(w scenario.Workload) bool { return !w.Delay.IsZero() && !w.EnqueuesAlone() }) {
		parts = append(parts, result.OfDelays)
	}
	if scenario.Any(workloads, scenario.Workload.ExtendsLeases) {
		parts = append(parts, result.OfExtends)
	}
	if scenario.Any(workloads, scenario.Workload.CancelsTasks) {
		parts = append(parts, result.OfCancels)
	}
	return parts
}

func (r *runner) summariseWorkloads(p scenario.Point, rounds []result.Round) ([]result.Workload, error) {
	if len(p.Workloads) < 2 {
		return nil, nil
	}
	var parts []result.PartsOfWorkload
	for _, w := range p.Workloads {
		parts = append(parts, result.PartsOfWorkload{Name: w.Name, Parts: partsOfLoad(w)})
	}
	return result.SummariseWorkloads(rounds, r.histograms, parts)
}

func (r *runner) profiles() (err error) {
	if len(r.captured) == 0 {
		return nil
	}
	r.result.Profiles, r.result.Locks, err = profile.Merge(r.folder.Path(), r.captured)
	return err
}

func overheads(metrics map[string]result.Metric, p scenario.Point, rounds []result.Round) error {
	closed := !scenario.Any(p.Workloads, func(w scenario.Workload) bool { return w.Arrivals.Kind != scenario.Closed })
	found, err := result.ProfilingOverheads(rounds, closed)
	if err != nil || metrics == nil {
		return err
	}
	maps.Copy(metrics, found)
	return nil
}

package result

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// WorkloadHistograms are the histograms of one workload of several.
type WorkloadHistograms struct {
	Name string
	Histograms
}

// Derive computes the metrics that follow from a workload's other fields and its histograms, as
// Round.Derive does.
func (w *RoundWorkload) Derive(windowSeconds float64, h Histograms) {
	w.Metrics = LatencyMetrics(h)
	if windowSeconds > 0 && w.Cycles > 0 {
		w.Metrics[CyclesPerS] = float64(w.Cycles) / windowSeconds
	}
	if w.Arrivals != nil {
		maps.Copy(w.Metrics, w.Arrivals.metrics())
	}
	maps.Copy(w.Metrics, readMetrics(w.Reads, w.OtherReads, windowSeconds))
	if w.TenantShares != nil {
		maps.Copy(w.Metrics, w.TenantShares.metrics())
	}
}

// PartsOfWorkload are the parts of one workload of several, with its name.
type PartsOfWorkload struct {
	Name  string
	Parts []Part
}

// SummariseWorkloads returns the metrics of each workload over the timed rounds, as Summarise does
// for a run: the throughput, the latencies and the metrics of the workload's parts.
func SummariseWorkloads(rounds []Round, hists []RoundHistograms, workloads []PartsOfWorkload) ([]Workload, error) {
	var all []Workload
	var problems []error
	for _, w := range workloads {
		own, ownHists := roundsOfWorkload(rounds, hists, w.Name)
		if len(own) == 0 {
			problems = append(problems, fmt.Errorf("workload %s: no timed rounds to summarise", w.Name))
			continue
		}
		of := func(spec Spec) bool {
			return slices.Contains(w.Parts, spec.Part) && spec.OfWorkload()
		}
		metrics, err := summariseTimed(own, ownHists, of)
		if err != nil {
			problems = append(problems, fmt.Errorf("workload %s: %w", w.Name, err))
		}
		all = append(all, Workload{Name: w.Name, Metrics: metrics})
	}
	return all, errors.Join(problems...)
}

// roundsOfWorkload returns the timed rounds that have a workload, with only the metrics and the
// histograms of the workload.
func roundsOfWorkload(rounds []Round, hists []RoundHistograms, name string) (own []Round, ownHists []RoundHistograms) {
	for _, r := range rounds {
		i := slices.IndexFunc(r.Workloads, func(of RoundWorkload) bool { return of.Name == name })
		if !r.Timed() || i < 0 {
			continue
		}
		own = append(own, Round{Number: r.Number, Metrics: r.Workloads[i].Metrics})
		for _, h := range hists {
			if h.Round == r.Number && i < len(h.Workloads) && h.Workloads[i].Name == name {
				ownHists = append(ownHists, RoundHistograms{Round: r.Number, Histograms: h.Workloads[i].Histograms})
			}
		}
	}
	return own, ownHists
}

package result

import (
	"cmp"

	"github.com/pronybench/prony/harness/scenario"
)

func (r *Reference) bareFigure(metric string) (figure Metric, ok bool) {
	switch metric {
	case CyclesPerS:
		return r.PerS, true
	case CPUUsPerCycle:
		return r.CPUUs, true
	case ServerCPUUsPerCycle:
		return *cmp.Or(r.ServerCPUUs, &Metric{}), true
	case ClientCPUUsPerCycle:
		return *cmp.Or(r.ClientCPUUs, &Metric{}), true
	}
	return Metric{}, false
}

// Bare returns the bare data path that was measured with a run, if the figures of a point can be
// compared with it. It must have been measured with the point's durability, and with calls of one
// task if the point's calls have one task. Otherwise Bare returns nil. The zero Point selects a run
// without a sweep.
func (r *Result) Bare(point Point) *Reference {
	for i := range r.References {
		if of := &r.References[i]; of.Name == scenario.ReferenceBare && of.suits(r, point) {
			return of
		}
	}
	return nil
}

func (r *Reference) suits(of *Result, point Point) bool {
	at, known := of.Manifest.Scenario.At(point.Swept())
	if !known || len(at.Workloads) == 0 || at.Topology.Kind == scenario.ByProgram {
		return false
	}
	batch, durability := BareConditions(at.Workloads[0].EnqueueBatch(), at.Topology.Durability == bareSync)
	return r.Batch == batch && r.Durability == durability
}

const (
	// BareBatch is the number of tasks in a call of the bare data path with batches.
	BareBatch = 64

	bareSync    = "sync"
	bareNotSync = "none"
)

// BareConditions returns the batch and the durability of the bare data path that is comparable with
// a load. batch is the number of tasks per call of the load. sync is true if its servers
// acknowledge after fsync.
func BareConditions(batch int, sync bool) (bareBatch int, durability string) {
	bareBatch, durability = 1, bareNotSync
	if batch > 1 {
		bareBatch = BareBatch
	}
	if sync {
		durability = bareSync
	}
	return bareBatch, durability
}

// Share returns a metric as a ratio to the figure of a reference, whose bounds are the extreme
// ratios that the two intervals allow. ok is false if the reference contains no figure that is
// comparable with the metric.
func (r *Reference) Share(metric string, m Metric) (share Metric, ok bool) {
	of, comparable := r.ReferenceFigure(metric)
	if !comparable || !(of.Low > 0) || m.N == 0 {
		return Metric{}, false
	}
	return Metric{Median: m.Median / of.Median, Low: m.Low / of.High, High: m.High / of.Low, N: min(m.N, of.N), Unit: "ratio"}, true
}

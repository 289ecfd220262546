package result

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
)

// Reference measures the capacity of a host at the time of a run: a fixed operation without the
// server under test, measured before the first round and after each one.
type Reference struct {
	Name      string `json:"name"`      // one of scenario.ReferenceNames
	Operation string `json:"operation"` // description of one operation
	// PerS is operations per second, and CPUUs the CPU time of one operation in microseconds over
	// all participating threads. Both are the median over the samples, with its 95 % interval for
	// at least six samples and its range otherwise. N counts samples.
	PerS  Metric `json:"per_s"`
	CPUUs Metric `json:"cpu_us"`
	// ServerCPUUs and ClientCPUUs are the parts of CPUUs in the two processes of the bare data
	// path; nil for other references.
	ServerCPUUs *Metric `json:"server_cpu_us,omitempty"`
	ClientCPUUs *Metric `json:"client_cpu_us,omitempty"`
	// Batch and Durability are the conditions of the bare data path: tasks per call, and "sync" if
	// the server waits for fsync or "none" if not. Both are empty for other references.
	Batch      int               `json:"batch,omitempty"`
	Durability string            `json:"durability,omitempty"`
	Samples    []ReferenceSample `json:"samples"` // in order of time
}

// ReferenceSample is one measurement of a reference.
type ReferenceSample struct {
	At    time.Time `json:"at"`     // start
	PerS  float64   `json:"per_s"`  // operations per second; above 0
	CPUUs float64   `json:"cpu_us"` // CPU time of one operation, in microseconds; above 0
	// ServerCPUUs and ClientCPUUs are as in Reference; 0 for references other than the bare data
	// path.
	ServerCPUUs float64 `json:"server_cpu_us,omitempty"`
	ClientCPUUs float64 `json:"client_cpu_us,omitempty"`
}

// SummariseReference adds the figures of samples to a reference without figures. It fails without a
// sample, and if a figure is not a positive finite number.
func SummariseReference(r Reference, samples []ReferenceSample) (Reference, error) {
	if len(samples) == 0 {
		return Reference{}, fmt.Errorf("reference %s: it was not measured", r.Name)
	}
	var rates, costs, ofServer, ofClient []float64
	for _, s := range samples {
		figures := []float64{s.PerS, s.CPUUs}
		if r.Name == scenario.ReferenceBare {
			figures = append(figures, s.ServerCPUUs, s.ClientCPUUs)
		}
		for _, v := range figures {
			if !(v > 0) || math.IsInf(v, 0) {
				return Reference{}, fmt.Errorf("reference %s: a sample is %v, expected a positive finite number", r.Name, v)
			}
		}
		rates, costs = append(rates, s.PerS), append(costs, s.CPUUs)
		ofServer, ofClient = append(ofServer, s.ServerCPUUs), append(ofClient, s.ClientCPUUs)
	}
	r.Samples = samples
	var errs [4]error
	r.PerS, errs[0] = referenceMetric(rates, "1/s")
	r.CPUUs, errs[1] = referenceMetric(costs, "us")
	if r.Name == scenario.ReferenceBare {
		r.ServerCPUUs, r.ClientCPUUs = new(Metric), new(Metric)
		*r.ServerCPUUs, errs[2] = referenceMetric(ofServer, "us")
		*r.ClientCPUUs, errs[3] = referenceMetric(ofClient, "us")
	}
	return r, errors.Join(errs[:]...)
}

func referenceMetric(values []float64, unit string) (Metric, error) {
	s, err := stat.Summarise(values)
	return Metric{Median: s.Center, Low: s.Low, High: s.High, N: s.N, Unit: unit}, err
}

// ReferenceFigure returns the figure of a reference that is comparable with a metric: operations
// per second for a rate, and CPU time per operation for CPU time per cycle. A cycle of the bare
// data path is comparable only with cycles, and with the CPU time of the same side. ok is false for
// other metrics.
func (r *Reference) ReferenceFigure(metric string) (figure Metric, ok bool) {
	if r.Name == scenario.ReferenceBare {
		return r.bareFigure(metric)
	}
	switch metric {
	case CyclesPerS, EnqueuesPerS, FillTasksPerS, DrainCyclesPerS:
		return r.PerS, true
	case ServerCPUUsPerCycle, ClientCPUUsPerCycle, CPUUsPerCycle:
		return r.CPUUs, true
	}
	return Metric{}, false
}

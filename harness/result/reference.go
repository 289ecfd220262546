package result

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/pronybench/prony/harness/stat"
)

// Reference is what a host was worth in the minute of a run: a fixed operation without the server under test, measured before the
// first round and after each one.
type Reference struct {
	Name      string `json:"name"`      // one of scenario.ReferenceNames
	Operation string `json:"operation"` // what one operation is
	// PerS is operations per second, and CPUUs the CPU time of one operation in microseconds, of all threads that take part. Both are
	// the median over the samples, with its 95 % interval where there are at least six samples and its range otherwise. N counts
	// samples.
	PerS    Metric            `json:"per_s"`
	CPUUs   Metric            `json:"cpu_us"`
	Samples []ReferenceSample `json:"samples"` // in the order of time
}

// ReferenceSample is one measurement of a reference.
type ReferenceSample struct {
	At    time.Time `json:"at"`     // its begin
	PerS  float64   `json:"per_s"`  // operations per second; above 0
	CPUUs float64   `json:"cpu_us"` // CPU time of one operation, in microseconds; above 0
}

// SummariseReference makes a reference of its samples. It fails without a sample, and if a figure of one is not a positive finite
// number.
func SummariseReference(name, operation string, samples []ReferenceSample) (Reference, error) {
	if len(samples) == 0 {
		return Reference{}, fmt.Errorf("reference %s: it was not measured", name)
	}
	var rates, costs []float64
	for _, s := range samples {
		for _, v := range []float64{s.PerS, s.CPUUs} {
			if !(v > 0) || math.IsInf(v, 0) {
				return Reference{}, fmt.Errorf("reference %s: a sample of %v is no measurement", name, v)
			}
		}
		rates, costs = append(rates, s.PerS), append(costs, s.CPUUs)
	}
	r := Reference{Name: name, Operation: operation, Samples: samples}
	var errs [2]error
	r.PerS, errs[0] = referenceMetric(rates, "1/s")
	r.CPUUs, errs[1] = referenceMetric(costs, "us")
	return r, errors.Join(errs[:]...)
}

func referenceMetric(values []float64, unit string) (Metric, error) {
	s, err := stat.Summarise(values)
	return Metric{Median: s.Center, Low: s.Low, High: s.High, N: s.N, Unit: unit}, err
}

// ReferenceFigure returns the figure of a reference that a metric can be compared with: operations per second for a rate, and CPU
// time per operation for CPU time per cycle. ok is false for other metrics.
func (r *Reference) ReferenceFigure(metric string) (figure Metric, ok bool) {
	switch metric {
	case CyclesPerS, EnqueuesPerS, FillTasksPerS, DrainCyclesPerS:
		return r.PerS, true
	case ServerCPUUsPerCycle, ClientCPUUsPerCycle, CPUUsPerCycle:
		return r.CPUUs, true
	}
	return Metric{}, false
}

package result

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/scenario"
)

func TestAReferenceIsTheMedianOfItsSamples(t *testing.T) {
	r, err := SummariseReference(Reference{Name: "cpu", Operation: "a loop"}, []ReferenceSample{{PerS: 30, CPUUs: 3}, {PerS: 10, CPUUs: 9}, {PerS: 20, CPUUs: 4}})
	require.NoError(t, err)
	assert.Equal(t, Metric{Median: 20, Low: 10, High: 30, N: 3, Unit: "1/s"}, r.PerS)
	assert.Equal(t, Metric{Median: 4, Low: 3, High: 9, N: 3, Unit: "us"}, r.CPUUs)
	assert.Len(t, r.Samples, 3)
	rate, ok := r.ReferenceFigure(CyclesPerS)
	assert.True(t, ok)
	assert.Equal(t, r.PerS, rate)
	cost, ok := r.ReferenceFigure(ServerCPUUsPerCycle)
	assert.True(t, ok)
	assert.Equal(t, r.CPUUs, cost)
	_, ok = r.ReferenceFigure(ServerRSSMBMax)
	assert.False(t, ok)
}

func TestAReferenceWithoutAMeasurementIsRefused(t *testing.T) {
	s := golden.Cases(t, "testdata/badreferences.golden")
	for i, samples := range [][]ReferenceSample{nil, {{PerS: 0, CPUUs: 1}}, {{PerS: 1, CPUUs: -1}}, {{PerS: math.NaN(), CPUUs: 1}}, {{PerS: 1, CPUUs: math.Inf(1)}}} {
		_, err := SummariseReference(Reference{Name: "cpu", Operation: "a loop"}, samples)
		s.Error(t, fmt.Sprint("sample ", i), err)
	}
}

// The bare data path has the CPU time of both its processes, and only cycles and CPU time are
// compared with it.
func TestTheBareDataPathHasTwoSides(t *testing.T) {
	of := Reference{Name: scenario.ReferenceBare, Batch: 64, Durability: "none"}
	_, err := SummariseReference(of, []ReferenceSample{{PerS: 1, CPUUs: 1}})
	golden.Cases(t, "testdata/badbare.golden").Error(t, "no CPU time of each side", err)
	r, err := SummariseReference(of, []ReferenceSample{
		{PerS: 100, CPUUs: 3, ServerCPUUs: 2, ClientCPUUs: 1}, {PerS: 200, CPUUs: 4, ServerCPUUs: 2.5, ClientCPUUs: 1.5},
	})
	require.NoError(t, err)
	assert.Equal(t, 64, r.Batch)
	for metric, want := range map[string]float64{CyclesPerS: 150, CPUUsPerCycle: 3.5, ServerCPUUsPerCycle: 2.25, ClientCPUUsPerCycle: 1.25} {
		figure, ok := r.ReferenceFigure(metric)
		assert.True(t, ok, metric)
		assert.InDelta(t, want, figure.Median, 1e-9, metric)
	}
	for _, metric := range []string{EnqueuesPerS, FillTasksPerS, DrainCyclesPerS, ServerRSSMBMax} {
		_, ok := r.ReferenceFigure(metric)
		assert.False(t, ok, metric)
	}
	share, ok := r.Share(CyclesPerS, Metric{Median: 75, Low: 60, High: 90, N: 7})
	assert.True(t, ok)
	assert.Equal(t, Metric{Median: 0.5, Low: 0.3, High: 0.9, N: 2, Unit: "ratio"}, share)
	_, ok = r.Share(EnqueuesPerS, Metric{Median: 75, N: 7})
	assert.False(t, ok)
	_, ok = r.Share(CyclesPerS, Metric{})
	assert.False(t, ok, "the metric was not measured")
}

// Figures are compared only with a bare data path under the same conditions.
func TestBareSuitsAPoint(t *testing.T) {
	r := &Result{References: []Reference{{Name: "cpu"}, {Name: scenario.ReferenceBare, Batch: 64, Durability: "none"}}}
	r.Manifest.Scenario = scenario.Scenario{
		Topology: scenario.Topology{Kind: "single", Durability: "none"}, Workloads: []scenario.Workload{{Name: "main", Batch: 4}},
	}
	at := func(path, text string) Point { return Point{Values: []Value{{Path: path, Text: text}}} }
	assert.Same(t, &r.References[1], r.Bare(Point{}))
	assert.NotNil(t, r.Bare(at("workload.main.batch", "64")))
	assert.Nil(t, r.Bare(at("workload.main.batch", "1")))
	assert.NotNil(t, r.Bare(at("topology.durability", "interval")), "no acknowledgement waits for fsync")
	assert.Nil(t, r.Bare(at("topology.durability", "sync")))
	assert.Nil(t, r.Bare(at("workload.other.batch", "64")), "the point is unknown")
	r.Manifest.Scenario.Topology.Kind = scenario.ByProgram
	assert.Nil(t, r.Bare(Point{}), "another product")
	r.References = r.References[:1]
	assert.Nil(t, r.Bare(Point{}))
}

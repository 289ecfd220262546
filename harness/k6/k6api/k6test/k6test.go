// Package k6test provides a VU without a running k6, for the extension's tests.
package k6test

import (
	"testing"

	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/js/modulestest"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/metrics"
)

// VU is a VU. It starts in the init context.
type VU struct {
	*modulestest.Runtime
	samples chan metrics.SampleContainer
}

// samplesMax is the number of sample containers that a VU buffers before it blocks.
const samplesMax = 10_000

// NewVU returns a VU with a module as the global `queue` and the given environment variables.
func NewVU(t testing.TB, module modules.Module, env map[string]string) *VU {
	t.Helper()
	vu := &VU{Runtime: modulestest.NewRuntime(t), samples: make(chan metrics.SampleContainer, samplesMax)}
	vu.VU.InitEnvField.LookupEnv = func(name string) (string, bool) { value, set := env[name]; return value, set }
	if err := vu.VU.Runtime().Set("queue", module.NewModuleInstance(vu.VU).Exports().Default); err != nil {
		t.Fatal(err)
	}
	return vu
}

// Run leaves the init context, so that the VU may make calls.
func (vu *VU) Run() { vu.RunAs(1, nil) }

// RunAs is Run for a VU with the given number, or 0 for setup and teardown. The segment is the
// execution segment of its load host, or nil if there is only one host.
func (vu *VU) RunAs(number uint64, segment *lib.ExecutionSegment) {
	registry := metrics.NewRegistry()
	vu.MoveToVUContext(&lib.State{
		Options: lib.Options{ExecutionSegment: segment}, Samples: vu.samples, VUID: number,
		Tags: lib.NewVUStateTags(registry.RootTagSet()),
	})
}

// Segment parses an execution segment.
func Segment(t testing.TB, text string) *lib.ExecutionSegment {
	t.Helper()
	segment, err := lib.NewExecutionSegmentFromString(text)
	if err != nil {
		t.Fatal(err)
	}
	return segment
}

// Sum returns the sum and the number of samples of each metric since the last call.
func (vu *VU) Sum() (sums map[string]float64, counts map[string]int) {
	sums, counts = map[string]float64{}, map[string]int{}
	for {
		select {
		case c := <-vu.samples:
			for _, s := range c.GetSamples() {
				sums[s.Metric.Name] += s.Value
				counts[s.Metric.Name]++
			}
		default:
			return sums, counts
		}
	}
}

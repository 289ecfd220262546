// Package k6test is what the extension's tests use of k6: a VU without k6 around it.
package k6test

import (
	"testing"

	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/js/modulestest"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/metrics"
)

// VU is one VU, which begins in the init context.
type VU struct {
	*modulestest.Runtime
	samples chan metrics.SampleContainer
}

// samplesMax is how many containers of samples a VU keeps before it blocks.
const samplesMax = 10_000

// NewVU returns a VU whose scripts find a module as the global `queue`.
func NewVU(t testing.TB, module modules.Module, env map[string]string) *VU {
	t.Helper()
	vu := &VU{Runtime: modulestest.NewRuntime(t), samples: make(chan metrics.SampleContainer, samplesMax)}
	vu.VU.InitEnvField.LookupEnv = func(name string) (string, bool) { value, set := env[name]; return value, set }
	if err := vu.VU.Runtime().Set("queue", module.NewModuleInstance(vu.VU).Exports().Default); err != nil {
		t.Fatal(err)
	}
	return vu
}

// Run leaves the init context: from now on the VU may send.
func (vu *VU) Run() { vu.RunAs(1, nil) }

// RunAs is Run of the VU with a number, 0 for setup and teardown. The segment is that of its load
// host; nil: there is one host.
func (vu *VU) RunAs(number uint64, segment *lib.ExecutionSegment) {
	registry := metrics.NewRegistry()
	vu.MoveToVUContext(&lib.State{
		Options: lib.Options{ExecutionSegment: segment}, Samples: vu.samples, VUID: number,
		Tags: lib.NewVUStateTags(registry.RootTagSet()),
	})
}

// Segment reads an execution segment.
func Segment(t testing.TB, text string) *lib.ExecutionSegment {
	t.Helper()
	segment, err := lib.NewExecutionSegmentFromString(text)
	if err != nil {
		t.Fatal(err)
	}
	return segment
}

// Sum adds up the samples of a metric so far, and says how many there were. It takes all samples.
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

package baselinebuild

import (
	"slices"

	"github.com/pronybench/prony/harness/result"
)

// primaries are the figures that a comparison judges by their loss.
var primaries = []string{
	result.CyclesPerS, result.ServerCPUUsPerCycle, result.ClientCPUUsPerCycle, result.CycleLatencyMs + "_p50", result.CycleLatencyMs + "_p99",
}

// metrics are the metrics that have ratios, in the order of files and pages: the primaries, then
// the counters of fixed work, which are better when lower.
var metrics = func() (all []metric) {
	for _, name := range primaries {
		spec, _ := result.Lookup(name)
		all = append(all, metric{name, spec.Better == result.Higher})
	}
	for _, c := range result.WorkCounters() {
		all = append(all, metric{c.Metric(), false})
	}
	return all
}()

type metric struct {
	name   string
	higher bool // is better
}

func place(name string) int {
	return slices.IndexFunc(metrics, func(m metric) bool { return m.name == name })
}

// Metrics returns the names of the metrics that have ratios.
func Metrics() (names []string) {
	for _, m := range metrics {
		names = append(names, m.name)
	}
	return names
}

// goodness returns the ratio, inverted if lower is better, so that a value above 1 is an
// improvement.
func (r Ratio) goodness() float64 {
	if i := place(r.Metric); i >= 0 && metrics[i].higher {
		return r.Value
	}
	return 1 / r.Value
}

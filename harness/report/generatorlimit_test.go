package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const generatorMayBeTheLimit = "a generator that spends less on a call may reach a higher rate"

func cpuOfSides(metrics map[string]result.Metric, server, client float64) {
	metrics[result.ServerCPUUsPerCycle] = result.Metric{Median: server}
	metrics[result.ClientCPUUsPerCycle] = result.Metric{Median: client}
}

func TestPageSaysThatTheGeneratorTookMoreCPUThanTheServer(t *testing.T) {
	r, hists := fixture(t, 6, 0)
	notMeasured := func() string {
		return sections(rendered(t, r, hists)["fixture.md"])["What this page does not measure"]
	}
	cpuOfSides(r.Metrics, 2, 2)
	assert.NotContains(t, notMeasured(), generatorMayBeTheLimit, "equal CPU time")
	cpuOfSides(r.Metrics, 1.5, 3)
	sheet(t).Equal(t, "more CPU", notMeasured())
	r.Manifest.Scenario.Workloads[0].Arrivals.Kind = "rate"
	assert.NotContains(t, notMeasured(), generatorMayBeTheLimit, "an open load has a fixed rate")
	r.Manifest.Scenario.Workloads[0].Arrivals.Kind = scenario.Closed
	r.Manifest.Scenario.Topology.Kind = scenario.Embedded
	assert.NotContains(t, notMeasured(), generatorMayBeTheLimit, "both are one process")
}

func TestPageNamesThePointsAtWhichTheGeneratorTookMoreCPU(t *testing.T) {
	r, hists := sweptFixture(t)
	notMeasured := func() string {
		return sections(rendered(t, r, hists)["fixture.md"])["What this page does not measure"]
	}
	for i := range r.Points {
		cpuOfSides(r.Points[i].Metrics, 1.5, 1)
	}
	assert.NotContains(t, notMeasured(), generatorMayBeTheLimit)
	cpuOfSides(r.Points[1].Metrics, 1.5, 3)
	cpuOfSides(r.Points[3].Metrics, 1.5, 3)
	s := sheet(t)
	s.Equal(t, "more CPU at two points", notMeasured())
	cpuOfSides(r.Points[0].Metrics, 1.5, 3)
	cpuOfSides(r.Points[2].Metrics, 1.5, 3)
	s.Equal(t, "more CPU at all points", notMeasured())
}

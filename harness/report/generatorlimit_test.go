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
	assert.Contains(t, notMeasured(), "- The server's limit. The generator used more CPU time than the server, 3.00 and 1.50 µs per cycle: "+generatorMayBeTheLimit)
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
	assert.Contains(t, notMeasured(), "- The server's limit at `shards=1, workers=64`; `shards=4, workers=64`. There the generator used more CPU time")
	cpuOfSides(r.Points[0].Metrics, 1.5, 3)
	cpuOfSides(r.Points[2].Metrics, 1.5, 3)
	assert.Contains(t, notMeasured(), "- The server's limit. At each point the generator used more CPU time than the server: "+generatorMayBeTheLimit)
}

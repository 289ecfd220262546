package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// withBare returns a run in batches that also measured the bare data path.
func withBare() *result.Result {
	metric := func(v float64) result.Metric {
		return result.Metric{Median: v, Low: 0.9 * v, High: 1.1 * v, N: 8, Unit: "1/s"}
	}
	r := &result.Result{
		Metrics: map[string]result.Metric{
			result.CyclesPerS: metric(410_000), result.EnqueuesPerS: metric(410_000), result.ServerCPUUsPerCycle: metric(2.5), result.ClientCPUUsPerCycle: metric(1.5),
			result.CPUUsPerCycle: metric(4),
		},
		References: []result.Reference{{
			Name: scenario.ReferenceBare, Operation: "a cycle", Batch: 64, Durability: "none",
			PerS: metric(500_000), CPUUs: metric(2), ServerCPUUs: new(metric(1)), ClientCPUUs: new(metric(1.2)),
		}},
	}
	r.Manifest.Scenario = scenario.Scenario{
		Topology: scenario.Topology{Kind: "single", Durability: "none"}, Workloads: []scenario.Workload{{Name: "main", Batch: 64}},
	}
	return r
}

func TestTheSummaryShowsSharesOfTheBareDataPath(t *testing.T) {
	p, r := &doc.Document{}, withBare()
	summarySection(p, r)
	referencesSection(p, r)
	golden.Text(t, "testdata/golden/bare.md", p.Markdown())

	for name, change := range map[string]func(){
		"another durability": func() { r.Manifest.Scenario.Topology.Durability = "sync" },
		"no reference":       func() { r.References = nil },
	} {
		change()
		p := &doc.Document{}
		summarySection(p, r)
		assert.NotContains(t, p.Markdown(), "bare", name)
	}
}

// Points with other conditions than the first one have no share.
func TestPointsShowSharesOfTheBareDataPath(t *testing.T) {
	p, r := &doc.Document{}, withBare()
	for i, batch := range []string{"64", "1"} {
		r.Points = append(r.Points, result.Point{
			Number: i + 1, Name: "batch=" + batch, Values: []result.Value{{Path: "workload.main.batch", Key: "batch", Text: batch}}, Metrics: r.Metrics,
		})
	}
	pointsSection(p, r)
	golden.Text(t, "testdata/golden/bare-points.md", p.Markdown())
	r.References = nil
	none := &doc.Document{}
	pointsSection(none, r)
	assert.NotContains(t, none.Markdown(), "bare")
}

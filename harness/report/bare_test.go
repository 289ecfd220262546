package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

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
	assert.Contains(t, p.Markdown(), "| metric | value | low | high | of bare | n | unit | what value, low and high are |\n")
	for _, row := range []string{
		"| `cycles_per_s` | 410,000 | 369,000 | 451,000 | 0.820 | 8 |", "| `enqueues_per_s` | 410,000 | 369,000 | 451,000 | – | 8 |",
		"| `cpu_us_per_cycle` | 4.00 | 3.60 | 4.40 | 2.00 | 8 |", "| `server_cpu_us_per_cycle` | 2.50 | 2.25 | 2.75 | 2.50 | 8 |",
		"| `client_cpu_us_per_cycle` | 1.50 | 1.35 | 1.65 | 1.25 | 8 |",
	} {
		assert.Contains(t, p.Markdown(), row)
	}
	assert.Contains(t, p.Markdown(), "with 64 tasks in each call at durability `none`, and reached 500,000 cycles per second")
	referencesSection(p, r)
	assert.Contains(t, p.Markdown(), "The CPU time of `bare` is 1.00 us (0.900 to 1.10) in the server and 1.20 us (1.08 to 1.32) in the client.")

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
	assert.Contains(t, p.Markdown(), "| `batch` | n | cycles/s | low | high | share | of bare |")
	assert.Contains(t, p.Markdown(), "| `64` | 8 | 410,000 | 369,000 | 451,000 | 1.00 | 0.820 |")
	assert.Contains(t, p.Markdown(), "| `1` | 8 | 410,000 | 369,000 | 451,000 | 1.00 | – |")
	r.References = nil
	none := &doc.Document{}
	pointsSection(none, r)
	assert.NotContains(t, none.Markdown(), "bare")
}

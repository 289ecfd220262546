package report_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// plotted returns the charts of a stored run by the file names of their plots.
func plotted(t *testing.T, r *result.Result, hists []result.RoundHistograms) map[string]plots.Chart {
	t.Helper()
	dir := stored(t, r, hists)
	charts, err := report.Charts(dir)
	require.NoError(t, err)
	pages, err := report.Render(nil, dir, t.TempDir())
	require.NoError(t, err)
	byPlot := map[string]plots.Chart{}
	for _, c := range charts {
		byPlot[c.Plot] = c
		drawn := false
		for _, page := range pages[1:] {
			drawn = drawn || filepath.Base(page) == c.Plot
		}
		assert.True(t, drawn, "%s: each chart belongs to a plot on the page", c.Plot)
	}
	return byPlot
}

func TestChartsHaveThePercentilesOfTheMergedRounds(t *testing.T) {
	r, hists := fixture(t, 3, 1)
	c := plotted(t, r, hists)["fixture-latency.svg"]
	assert.True(t, c.Nines)
	assert.Equal(t, "fixture: latency by percentile, durability none", c.Title)
	require.Len(t, c.Lines, 3)
	cycle := c.Lines[2]
	assert.Equal(t, "cycle: enqueue to acknowledged completion", cycle.Name)
	assert.Equal(t, uint64(60_000), cycle.Samples)
	merged, err := result.Merge(hists[0].Histograms, hists[1].Histograms, hists[2].Histograms)
	require.NoError(t, err)
	at := int(stat.Nines(90) / float64(cycle.Step))
	assert.InDelta(t, float64(merged.Cycle.ValueAtPercentile(90))/1e6, float64(cycle.Y[at]), 0.01)
	assert.InDelta(t, float64(merged.Cycle.Max())/1e6, float64(cycle.Y[len(cycle.Y)-1]), 1e-9, "the last point is the largest sample")
	assert.InDelta(t, stat.Nines(100-100.0/60_000), float64(cycle.Last), 1e-9)
}

func TestChartsOfWorkloadsAndSeries(t *testing.T) {
	r, hists := mixedFixture(t)
	r.Rounds[0].Series = []result.Sample{{AtS: 1, CyclesPerS: 100, DiskMB: 7, ServerRSSMB: 50}, {AtS: 2, CyclesPerS: 300, DiskMB: 8, ServerRSSMB: 60}}
	r.Rounds[0].Stalls = &result.Stalls{
		SlowMs:  5,
		Commits: []result.SlowCommit{{AtS: 1, Ms: 20, Shard: 1, CausesMs: map[string]float64{"flush": 20}}},
		Work:    []result.StoreWork{{Kind: "flush", Store: "0", AtS: -1, Ms: 2000}, {Kind: "fsync", Store: "0", AtS: 3, Ms: 9}},
	}
	charts := plotted(t, r, hists)
	workloads := charts["fixture-workloads.svg"]
	require.Len(t, workloads.Lines, 2)
	assert.Equal(t, "noisy", workloads.Lines[0].Name)
	flush := []plots.Band{{Kind: "flush", Name: "flush of store 0", From: 0, To: 1}}
	rate := charts["fixture-series-rate.svg"]
	assert.Equal(t, []plots.Line{{Name: "round 1", X: []plots.Value{1, 2}, Y: []plots.Value{100, 300}}}, rate.Lines)
	assert.Equal(t, flush, rate.Bands)
	assert.Equal(t, []plots.Value{7, 8}, charts["fixture-series-disk.svg"].Lines[0].Y)
	assert.Equal(t, []plots.Value{50, 60}, charts["fixture-series-memory.svg"].Lines[0].Y)
	stalls := charts["fixture-stalls.svg"]
	assert.True(t, stalls.Dots)
	assert.Equal(t, plots.Line{
		Name: "a commit of more than 5.00 ms, at its start", X: []plots.Value{1}, Y: []plots.Value{20}, Notes: []string{"shard 1: flush 20.0"},
	}, stalls.Lines[0])
	assert.Equal(t, flush, stalls.Bands)
}

func TestChartsOfFaults(t *testing.T) {
	r, hists := fixture(t, 1, 0)
	r.Rounds[0].Faults = &result.Faults{SlotS: 0.1, Cycles: []float64{10, 0, 20}, Events: []result.Fault{
		{Kind: "kill", Nodes: []string{"n1"}, BeganS: 0.1, HealedS: 0.2, BeforePerS: 100},
	}}
	c := plotted(t, r, hists)["fixture-faults.svg"]
	require.Len(t, c.Lines, 1)
	assert.Equal(t, plots.Line{Name: "round 1", From: 0.05, Step: 0.1, Y: []plots.Value{100, 0, 200}}, c.Lines[0])
	assert.Equal(t, []plots.Band{{Kind: "fault", Name: "kill n1", From: 0.1, To: 0.2}}, c.Bands)
}

func TestAnIncorrectRunHasNoCharts(t *testing.T) {
	r, hists := fixture(t, 2, 0)
	r.Verdict = result.Incorrect
	assert.Empty(t, plotted(t, r, hists))
}

func TestChartsOfPublishedData(t *testing.T) {
	for _, plot := range []struct{ of, name string }{
		{"soak-steady", "soak-steady-cycles-per-s.svg"}, {"leader-kill", "leader-kill-faults.svg"}, {"tls", "tls-latency.svg"},
	} {
		charts, err := report.Charts(filepath.Join("..", "..", "reports", "data", plot.of))
		require.NoError(t, err)
		found := false
		for _, c := range charts {
			found = found || c.Plot == plot.name
			for _, l := range c.Lines {
				assert.NotEmpty(t, l.Y, "%s: %s", c.Plot, l.Name)
			}
		}
		assert.True(t, found, plot.name)
	}
	charts, err := report.Charts(t.TempDir())
	require.NoError(t, err)
	assert.Empty(t, charts, "another folder has no charts")
	bad := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bad, result.ResultFile), []byte("{"), 0o600))
	_, err = report.Charts(bad)
	assert.ErrorContains(t, err, "corrupt")
}

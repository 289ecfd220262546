package experimentspage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/experiment"
	"github.com/pronybench/prony/harness/report/experimentspage"
)

func scoredExperiment(name string, kept bool, ratio float64) experiment.Experiment {
	e := experiment.Experiment{
		Name: name, Hypothesis: "less *work*", Change: "one lock", File: "engine/a.go:3", Effect: "as hoped", Cost: "a | map", Kept: kept,
		Measurement: &experiment.Measurement{
			Started: time.Date(2026, 11, 24, 3, 50, 12, 0, time.UTC), Base: "0123", Commit: "4567", Scenario: "ratchet", Durability: "none",
			Command: "prony ratchet --base main", Seconds: 131, Generations: 12, Points: 7, Tests: "go test ./queue/...",
			Score:     &experiment.Ratio{Ratio: ratio, Low: ratio - 0.02, High: ratio + 0.02},
			Figures:   []experiment.Figure{{Metric: "cycles_per_s", Unit: "1/s", Base: 100, Change: 90, Ratio: experiment.Ratio{Ratio: 0.9, Low: 0.88, High: 0.92}, Worse: true}},
			MoreWorse: 2,
		},
	}
	return e
}

func TestPageOfExperiments(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "a.go"), []byte("package a\n\nfunc run() {}\n"), 0o600))
	all := []experiment.Experiment{
		{Name: "by-hand", NamedBy: "a profile", Hypothesis: "faster", Change: "less", Effect: "none", Measured: "two shared cores", Code: "a.go: func run"},
		scoredExperiment("first", true, 0.9), scoredExperiment("second", false, 1.1), scoredExperiment("third", true, 0.8),
	}
	failing := scoredExperiment("failing", false, 1)
	failing.Measurement.Score, failing.Measurement.Figures, failing.Measurement.Disqualified = nil, nil, "the tests failed"
	tie := scoredExperiment("tie", true, 1)
	tie.KeptFor = "a *lock* less"
	all = append(all, failing, tie)
	page, plot, err := experimentspage.Page(all, root)
	require.NoError(t, err)
	for _, says := range []string{
		"6 experiments: 3 kept, 1 of them for a reason other than their effect, which is within the noise; 3 rejected. 5 were decided by `prony ratchet`",
		"### tie: kept for another reason", "- Kept for: a \\*lock\\* less", "| tie | kept for another reason |",
		"| 1 | 2026-11-24 | first | kept | 0.900 (0.880 to 0.920) | 0.900 |",
		"| 2 | 2026-11-24 | second | rejected | 1.100 (1.080 to 1.120) | 0.900 |",
		"| 3 | 2026-11-24 | third | kept | 0.800 (0.780 to 0.820) | 0.720 |",
		"### by-hand: rejected", "- In the current code: [`a.go:3`](../a.go#L3)\n", "- Named by: a profile", "- Cost: not said", "- Hypothesis: less \\*work\\*", "- Where: `engine/a.go:3`", "- Cost: a | map",
		"| cycles\\_per\\_s | all | 1/s | 100 | 90.0 | 0.900 (0.880 to 0.920) | worse |", "- Disqualified: the tests failed", "2 further figures of single points certainly got worse too",
		"Provenance: `prony ratchet --base main`; base `0123`; change `4567`; tests: go test ./queue/...; scenario `ratchet`, durability `none`; 12 generations at 7 points, 131 s from 2026-11-24 03:50 UTC.",
	} {
		assert.Contains(t, page, says)
	}
	assert.NotContains(t, page, "| 5 |", "a disqualified experiment has no score")
	assert.Less(t, strings.Index(page, "### failing"), strings.Index(page, "## What this does not measure"), "the last section")
	assert.Contains(t, string(plot), "product of the kept")
	again, plotAgain, err := experimentspage.Page(all, root)
	require.NoError(t, err)
	assert.Equal(t, page, again)
	assert.Equal(t, plot, plotAgain)

	page, plot, err = experimentspage.Page(all[:1], root)
	require.NoError(t, err)
	assert.Nil(t, plot)
	assert.NotContains(t, page, "## The trail")
	assert.Contains(t, page, "those at 30 % of the base's rate")
	assert.NotContains(t, page, "%!")

	for code, says := range map[string]string{
		"b.go: func run":  `experiment "by-hand": its code does not exist`,
		"a.go: func walk": `experiment "by-hand": a.go has no line that begins with "func walk": use the current declaration`,
	} {
		all[0].Code = code
		_, _, err = experimentspage.Page(all, root)
		assert.ErrorContains(t, err, says)
	}
}

// The published page is that of the ledger.
func TestPublishedPageOfExperiments(t *testing.T) {
	all, err := experiment.Load("../../../reports/experiments.hcl")
	require.NoError(t, err)
	page, plot, err := experimentspage.Page(all, "../../..")
	require.NoError(t, err)
	published, err := os.ReadFile("../../../reports/" + experimentspage.Name)
	require.NoError(t, err)
	assert.Equal(t, page, string(published), "run make pages")
	if plot != nil {
		published, err := os.ReadFile("../../../reports/" + experimentspage.PlotFile)
		require.NoError(t, err)
		assert.Equal(t, string(plot), string(published))
	}
}

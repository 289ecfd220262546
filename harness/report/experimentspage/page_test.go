package experimentspage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
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
	golden.Text(t, "testdata/experiments.md", page)
	assert.Less(t, strings.Index(page, "### failing"), strings.Index(page, "## What this does not measure"), "the last section")
	golden.Text(t, "testdata/experiments.svg", string(plot))
	again, plotAgain, err := experimentspage.Page(all, root)
	require.NoError(t, err)
	assert.Equal(t, page, again)
	assert.Equal(t, plot, plotAgain)

	page, plot, err = experimentspage.Page(all[:1], root)
	require.NoError(t, err)
	assert.Nil(t, plot)
	golden.Text(t, "testdata/unscored.md", page)

	s := golden.Cases(t, "testdata/errors.golden")
	s.Replace(root, "ROOT")
	for _, code := range []string{"b.go: func run", "a.go: func walk"} {
		all[0].Code = code
		_, _, err = experimentspage.Page(all, root)
		s.Error(t, code, err)
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

package pages_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/pages"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const comparison = `{"version":4,"scenario":"other","verdict":"regressed","reasons":["cycles_per_s fell"]}`

// The index has the verdict of each scenario by its limits, and the reason if it does not pass: the
// first broken limit.
func TestTheIndexSaysWhatDoesNotPass(t *testing.T) {
	reports := repository(t)
	index := func(limits *gate.Baselines) string {
		t.Helper()
		paths, err := pages.Write(limits, reports, report.PagesFolder(reports))
		require.NoError(t, err)
		text, err := os.ReadFile(paths[len(paths)-1])
		require.NoError(t, err)
		return string(text)
	}
	r, hists := made(t, "slow", alone)
	r.Manifest.Scenario.Limits = []scenario.Limit{{Metric: result.CyclesPerS, Min: new(1e9), Because: "nothing does that"}, {Metric: result.ServerRSSMBMax, Max: new(1.0), Because: "small"}}
	publish(t, reports, r, hists)
	write(t, filepath.Join(reports, "data", "other", "comparison.json"), comparison)
	write(t, filepath.Join(reports, "scenarios", "other.md"), "# Compared\n")
	s := sheet(t, reports)
	s.Equal(t, "limits of the scenarios", index(nil))

	baselines := filepath.Join(t.TempDir(), "baselines")
	write(t, filepath.Join(baselines, "alone.hcl"), "baseline \"alone\" {\n  floor \"cycles_per_s\" {\n    min     = 5000\n    because = \"it did\"\n  }\n}\n")
	limits, err := gate.LoadBaselines(baselines)
	require.NoError(t, err)
	s.Equal(t, "baselines", index(limits))
	altered, err := pages.Altered(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	assert.NotEmpty(t, altered, "the index depends on the limits")
}

package historypage_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/baselinebuild"
	"github.com/pronybench/prony/harness/report/historypage"
)

// movedBuilds has two moves: one on one scenario, and one on two scenarios with an accepted fall.
func movedBuilds() *baselinebuild.File {
	commit := func(digit string) string { return strings.Repeat(digit, 40) }
	return &baselinebuild.File{Builds: []baselinebuild.Build{
		{Commit: commit("1"), Date: "2026-11-28", Because: "the first"},
		{Commit: commit("2"), Date: "2026-12-01", Because: "smaller frames", Ratios: []baselinebuild.Ratio{
			{Scenario: "compare", Metric: "cycles_per_s", Value: 1.0521}, {Scenario: "compare", Metric: "calls_per_cycle", Value: 0.33333},
		}},
		{Commit: commit("3"), Date: "2026-12-09", Because: "server_cpu_us_per_cycle | checksums", AcceptCreep: "checksums find torn writes", Ratios: []baselinebuild.Ratio{
			{Scenario: "compare", Metric: "cycles_per_s", Value: 0.99},
			{Scenario: "compare", Metric: "server_cpu_us_per_cycle", Value: 1.0812},
			{Scenario: "smoke-raft", Metric: "cycles_per_s", Value: 1},
		}},
	}}
}

// The golden files under testdata have the text and the page of these builds, and of a build without
// a move.
func TestGoldenBaselineBuilds(t *testing.T) {
	golden.Text(t, "testdata/golden/baselinebuilds.txt", historypage.BaselineBuilds(movedBuilds()).Terminal())
	golden.Text(t, "testdata/golden/baselinebuilds.md", baselineSection(t, t.TempDir(), movedBuilds()))
	first := movedBuilds()
	first.Builds = first.Builds[:1]
	golden.Text(t, "testdata/golden/firstbuild.txt", historypage.BaselineBuilds(first).Terminal())
	golden.Text(t, "testdata/golden/firstbuild.md", baselineSection(t, t.TempDir(), first))
	assert.Empty(t, baselineSection(t, t.TempDir(), nil))
}

// baselineSection returns the section of the history's page with the baseline builds.
func baselineSection(t *testing.T, out string, builds *baselinebuild.File) string {
	t.Helper()
	files, err := historypage.Render(t.TempDir(), builds, out)
	require.NoError(t, err)
	page, err := os.ReadFile(files[0])
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "\n## Baseline builds\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

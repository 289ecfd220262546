package historypage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// The golden files under testdata have the text and the page of these builds. After an intended
// change: go test ./report/historypage -update.
func TestGoldenBaselineBuilds(t *testing.T) {
	got, path := historypage.BaselineBuilds(movedBuilds()).Terminal(), filepath.Join(golden, "baselinebuilds.txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)

	out, path := t.TempDir(), filepath.Join(golden, "baselinebuilds.md")
	section := baselineSection(t, out, movedBuilds())
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(section), 0o600))
	}
	want, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), section)
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

// Without a move, one line names the build that limits are relative to, and its date.
func TestBaselineBuildsWithoutAMove(t *testing.T) {
	first := movedBuilds()
	first.Builds = first.Builds[:1]
	assert.Equal(t, "Baseline builds\n  Speed limits are relative to the baseline build 111111111111 since 2026-11-28, which has never\n  moved.\n", historypage.BaselineBuilds(first).Terminal())
	assert.Equal(t, "\nSpeed limits are relative to the baseline build `111111111111` since 2026-11-28, which has never moved.\n", baselineSection(t, t.TempDir(), first))
	assert.Empty(t, baselineSection(t, t.TempDir(), nil))
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/baselinebuild"
	"github.com/pronybench/prony/harness/history"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// recordedRun stores the n-th run of a scenario on the checked-out commit.
func recordedRun(t *testing.T, n int, change func(*result.Result)) string {
	t.Helper()
	commit, err := git(t.Context(), ".", "rev-parse", "HEAD")
	require.NoError(t, err)
	return stored(t, defaultOut, fmt.Sprintf("%d-tiny", n), func(r *result.Result) {
		r.Started = time.Date(2026, 11, 21, n, 0, 0, 0, time.UTC)
		r.Manifest.Build.Commit = commit
		for i := range r.Rounds {
			r.Rounds[i].Covered = []result.Covered{{Of: result.CoveredCPU, ToS: 1}}
		}
		if change != nil {
			change(r)
		}
	})
}

// recordRuns makes a repository, and adds records of runs of its commits to the history: one from
// before a tag, one without full coverage of its figures, one that is incorrect, and a later one.
func recordRuns(t *testing.T) {
	t.Helper()
	inRepository(t, "harness/code.go", "package harness\n")
	cpu := result.Metric{Median: 4, Low: 3, High: 5, N: 2, Unit: "us"}
	for n, change := range []func(*result.Result){
		func(r *result.Result) { r.Metrics[result.ServerCPUUsPerCycle] = cpu },
		func(r *result.Result) {
			r.Metrics[result.ServerCPUUsPerCycle] = cpu
			r.Rounds[1].Covered = nil
		},
		func(r *result.Result) { r.Verdict = result.Incorrect },
		func(r *result.Result) {
			r.Metrics[result.CyclesPerS] = result.Metric{Median: 1100, Low: 1000, High: 1200, N: 2}
		},
	} {
		r, err := result.ReadResult(filepath.Join(recordedRun(t, n+1, change), result.ResultFile))
		require.NoError(t, err)
		require.NoError(t, addRecords(t.Context(), r, "reports/history"))
		require.ErrorIs(t, addRecords(t.Context(), r, "reports/history"), history.ErrRecorded)
		write(t, "harness/code.go", fmt.Sprintf("package harness // %d\n", n))
		commitAll(t)
		if n == 0 {
			inGit(t, "tag", "v0.1")
		}
	}
}

func TestHistoryOfRecordedRuns(t *testing.T) {
	recordRuns(t)
	records, err := history.ReadAll("reports/history")
	require.NoError(t, err)
	require.Len(t, records, 4)
	assert.Contains(t, records[0].Metrics, result.ServerCPUUsPerCycle)
	assert.NotContains(t, records[1].Metrics, result.ServerCPUUsPerCycle)
	assert.Equal(t, "3-tiny", records[2].Run)
	assert.Empty(t, records[2].Metrics, "incorrect")
	assert.Equal(t, "4-tiny", records[3].Run)
	for i, r := range records {
		assert.False(t, r.Committed.IsZero(), "the repository has the commit")
		assert.Equal(t, i > 0, r.Tag == "v0.1", "the first one was measured before the tag")
	}

	got := prony(t, "history", "tiny")
	require.Equal(t, 0, got.code, got.stderr)
	text := got.stdout
	for i, r := range records {
		text = strings.ReplaceAll(text, render.Commit(r.Commit), fmt.Sprintf("<commit %d>", i))
	}
	text = strings.ReplaceAll(text, records[0].Settings, "<settings>")
	golden.Text(t, "testdata/history.golden", text)

	got = prony(t, "history", "--json")
	require.Equal(t, 0, got.code, got.stderr)
	var shown trackedSeries
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &shown), got.stdout)
	require.Len(t, shown.Series, 1)
	assert.Equal(t, 4, shown.Series[0].Records)
	require.Len(t, shown.Series[0].NotPass, 1)
	assert.Equal(t, result.Incorrect, shown.Series[0].NotPass[0].Verdict)
	require.Equal(t, result.CyclesPerS, shown.Series[0].Tracks[0].Metric)
	assert.Equal(t, "v0.1", shown.Series[0].Tracks[0].Drift.Tag)
	assert.InDelta(t, 1.1, *shown.Series[0].Tracks[0].Drift.Ratio, 1e-9)

	got = prony(t, "history", "page", "--out", "pages", "--json")
	require.Equal(t, 0, got.code, got.stderr)
	pages := got.document(t).Pages
	require.Len(t, pages, 1)
	assert.Equal(t, "pages/history.md", pages[0].Page)
	require.Len(t, pages[0].Files, 1)
	assert.FileExists(t, pages[0].Files[0])
	assert.Equal(t, []string{"page", "tiny"}, completed(t, "history", ""))
	assert.Empty(t, completed(t, "history", "tiny", "t"), "no scenario twice")
}

func TestHistoryThatIsNotThere(t *testing.T) {
	s := sheet(t)
	inFolder(t)
	require.NoError(t, os.MkdirAll("reports/history", 0o755))
	got := prony(t, "history")
	assert.Equal(t, 0, got.code)
	assert.Empty(t, got.stdout)
	s.Equal(t, "no record", got.stderr)
	mistake(t, s, "history", "tyni")
	write(t, "reports/history/tiny.jsonl", `{"version":9}`)
	mistake(t, s, "history")
}

const buildFile = defaultBaselines + "/" + baselinebuild.FileName

// Before the series, the history shows the baseline builds, with and without a move. Without the
// file it shows none.
func TestHistoryShowsBaselineBuilds(t *testing.T) {
	s := sheet(t)
	inFolder(t)
	require.NoError(t, os.MkdirAll("reports/history", 0o755))
	first := fmt.Sprintf("build %q {\n  date    = \"2026-11-28\"\n  because = \"the first\"\n}\n", strings.Repeat("1", 40))
	write(t, buildFile, first)
	got := prony(t, "history")
	require.Equal(t, 0, got.code, got.stderr)
	s.Equal(t, "never moved", got.stdout)

	_, err := baselinebuild.Append(buildFile, baselinebuild.Build{
		Commit: strings.Repeat("2", 40), Date: "2026-12-01", Because: "smaller frames",
		Ratios: []baselinebuild.Ratio{{Scenario: "tiny", Metric: result.CyclesPerS, Value: 1.05}},
	})
	require.NoError(t, err)
	got = prony(t, "history")
	require.Equal(t, 0, got.code, got.stderr)
	s.Equal(t, "moved", got.stdout)
	moved := got.stdout
	got = prony(t, "history", "--json")
	require.Equal(t, 0, got.code, got.stderr)
	var shown trackedSeries
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &shown), got.stdout)
	require.Len(t, shown.BaselineBuilds, 2)
	assert.Equal(t, "smaller frames", shown.BaselineBuilds[1].Because)
	require.Len(t, shown.BaselineProducts, 1)
	assert.InDelta(t, 1.05, shown.BaselineProducts[0].Value, 1e-9)
	require.Equal(t, 0, prony(t, "history", "page", "--out", "pages").code)
	page, err := os.ReadFile("pages/history.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "\n## Baseline builds\n")
	section, _, _ = strings.Cut(section, "\n## ")
	s.Equal(t, "page", section)

	require.NoError(t, os.Rename(defaultBaselines, "other"))
	assert.Empty(t, prony(t, "history").stdout)
	assert.Equal(t, moved, prony(t, "history", "--baselines", "other").stdout)
	write(t, buildFile, "build {}")
	mistake(t, s, "history")
	mistake(t, s, "history", "page", "--out", "pages")
}

// A published page adds its record. The output explains why another run has no record. A second
// publication adds none.
func TestPublishingAddsARecord(t *testing.T) {
	inRepository(t, "harness/code.go", "package harness\n")
	run := recordedRun(t, 1, nil)
	for range 2 {
		got := prony(t, "report", "--publish", "reports", run)
		require.Equal(t, 0, got.code, got.stderr)
		assert.Empty(t, got.stderr)
	}
	records, err := history.ReadAll("reports/history")
	require.NoError(t, err)
	require.Len(t, records, 1)
	assert.Equal(t, "1-tiny", records[0].Run)
	assert.Equal(t, 2, records[0].Rounds)

	other := recordedRun(t, 2, func(r *result.Result) {
		r.Scenario, r.Manifest.Scenario.Name, r.Manifest.Scenario.Topology.Kind = "other", "other", scenario.ByProgram
	})
	got := prony(t, "report", "--publish", "reports", other)
	require.Equal(t, 0, got.code, got.stderr)
	s := sheet(t)
	s.Equal(t, "servers of other products", got.stderr)

	write(t, "baselines/tiny.hcl", strings.Replace(baseline, "500", "5000", 1))
	got = prony(t, "report", "--publish", "reports", recordedRun(t, 3, nil))
	require.Equal(t, 0, got.code, got.stderr)
	records, err = history.Read("reports/history/tiny.jsonl")
	require.NoError(t, err)
	require.Len(t, records, 2)
	assert.Equal(t, result.Regressed, records[1].Verdict, "by the limits at the time of publication")

	write(t, "reports/history/tiny.jsonl", "{}\n")
	got = prony(t, "report", "--publish", "reports", recordedRun(t, 4, nil))
	refused(t, s, "a damaged history", got)
}

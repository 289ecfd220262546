package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

func replaceOnce(t *testing.T, text, from, to string) string {
	t.Helper()
	require.Equal(t, 1, strings.Count(text, from))
	return strings.Replace(text, from, to, 1)
}

func TestReportIntoTheRun(t *testing.T) {
	inFolder(t)
	run := stored(t, "a", "run", nil)
	got := prony(t, "report", run+string(filepath.Separator))
	require.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, filepath.Join(run, "report.md")+"\n", got.stdout)
	for _, name := range []string{"report.md", "tiny-throughput.svg", "tiny-latency.svg"} {
		assert.FileExists(t, filepath.Join(run, name))
	}
}

func TestReportIntoAFolder(t *testing.T) {
	inFolder(t)
	run := stored(t, "a", "run", nil)
	got := prony(t, "report", "--out", "pages", run)
	require.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, "pages/tiny.md\n", got.stdout)
	assert.FileExists(t, "pages/tiny.md")
	assert.NoFileExists(t, filepath.Join(run, "report.md"))
}

// A published page can be rendered again from its data, byte for byte.
func TestReportPublishes(t *testing.T) {
	inFolder(t)
	stored(t, defaultOut, "1-tiny", nil)
	got := prony(t, "report", "--publish", "reports")
	require.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, "reports/scenarios/tiny.md\n", got.stdout)
	assert.FileExists(t, filepath.Join("reports", "data", "tiny", result.ResultFile+result.PackedSuffix))
	got = prony(t, "report", "--out", "again", "reports/data/tiny")
	require.Equal(t, 0, got.code, got.stderr)
	for _, name := range []string{"tiny.md", "tiny-throughput.svg", "tiny-latency.svg"} {
		published, err := os.ReadFile(filepath.Join("reports", "scenarios", name))
		require.NoError(t, err)
		again, err := os.ReadFile(filepath.Join("again", name))
		require.NoError(t, err)
		assert.Equal(t, string(published), string(again), name)
	}
}

func TestReportOfSeveralRuns(t *testing.T) {
	inFolder(t)
	first, second := stored(t, "a", "1", nil), stored(t, "a", "2", nil)
	got := prony(t, "report", first, second)
	require.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, filepath.Join(first, "report.md")+"\n"+filepath.Join(second, "report.md")+"\n", got.stdout)

	got = prony(t, "report", "none")
	assert.Equal(t, 2, got.code)
	assert.Empty(t, got.stdout)
}

func TestReportInFormsOfOthers(t *testing.T) {
	inFolder(t)
	run := stored(t, "a", "1", nil)
	for format, part := range map[string]string{"bench": "# run: 1\n", "csv": "run,scenario,point,round,", "k6": `"root_group"`} {
		got := prony(t, "report", "--format", format, run)
		assert.Equal(t, 0, got.code, got.stderr)
		assert.Contains(t, got.stdout, part)
	}
	assert.NoFileExists(t, filepath.Join(run, "report.md"))
	for _, args := range [][]string{{"--format", "xml", run}, {"--format", "csv", run, run}, {"--format", "csv", "none"}, {"--format", "csv", "--json", run}} {
		assert.Equal(t, 2, prony(t, append([]string{"report"}, args...)...).code, args)
	}
}

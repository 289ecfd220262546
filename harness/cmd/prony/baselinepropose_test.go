package main

import (
	"archive/zip"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const commented = `# Why there is a file.

baseline "tiny" {
  # Why there is a floor.
  floor "cycles_per_s" {
    min      = 500 # a half
    observed = 800
    on       = "an old host"
    because  = "half of what it does"
  }
}
`

// zipped packs a folder in the format of a CI service's artifact.
func zipped(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "perf-smoke.zip")
	file, err := os.Create(path)
	require.NoError(t, err)
	w := zip.NewWriter(file)
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, p)
		require.NoError(t, err)
		f, err := w.Create(filepath.ToSlash(name))
		require.NoError(t, err)
		text, err := os.ReadFile(p)
		require.NoError(t, err)
		_, err = f.Write(text)
		return err
	}))
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
	return path
}

func startedOn(day int) func(*result.Result) {
	return func(r *result.Result) {
		r.Started = time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)
		r.Manifest.Host.CPUModel, r.Manifest.Host.CPUs = "Some CPU", 2
		r.Manifest.Build = result.Build{Commit: "abc123", Dirty: true}
		r.Metrics[result.CyclesPerS] = result.Metric{Median: 1000 * float64(day), Low: 900, High: 3100, N: 2}
	}
}

// An archive from a CI service results in a diff that can be applied, with its evidence. The diff
// keeps hand-written text.
func TestProposeFromAnArchive(t *testing.T) {
	inFolder(t)
	t.Setenv("TMPDIR", t.TempDir())
	write(t, "baselines/tiny.hcl", commented)
	stored(t, "runs", "one", startedOn(1))
	stored(t, "runs", "three", startedOn(3))
	stored(t, "runs", "two", startedOn(2))
	archive := zipped(t, "runs")
	got := prony(t, "baseline", "propose", archive)
	require.Equal(t, 0, got.code, got.stderr)
	s := sheet(t)
	s.Equal(t, "changes", got.stdout)
	s.Equal(t, "reasons", got.stderr)
	text, err := os.ReadFile("baselines/tiny.hcl")
	require.NoError(t, err)
	assert.Equal(t, commented, string(text), "nothing is written without --write")

	asked := prony(t, "baseline", "propose", "--write", "--json", archive)
	require.Equal(t, 0, asked.code, asked.stderr)
	asked.document(t)
	s.Equal(t, "written changes", asked.stderr)
	again := prony(t, "baseline", "propose", archive)
	assert.Empty(t, again.stdout, "nothing more to propose")

	write(t, "torn.zip", "PK")
	assert.Equal(t, 2, prony(t, "baseline", "propose", "--json", "torn.zip").code)
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "prony-archive-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// Two scenarios of one file result in one diff, and the output names the place of "limit" blocks.
func TestProposeOfOneFile(t *testing.T) {
	inFolder(t)
	const second = "baseline \"other\" {\n  ceiling \"server_rss_mb_max\" {\n    max     = 5\n    because = \"x\"\n  }\n}\n"
	write(t, "baselines/tiny.hcl", commented+"\n"+second)
	a := stored(t, "runs", "a", startedOn(1))
	b := stored(t, "runs", "b", func(r *result.Result) {
		startedOn(2)(r)
		r.Scenario = "other"
		r.Manifest.Scenario.Limits = []scenario.Limit{{Metric: result.CyclesPerS, Min: new(1.0), Because: "x", Where: "scenarios/other.hcl:9:3"}}
	})
	got := prony(t, "baseline", "propose", "--write", a, b)
	require.Equal(t, 0, got.code, got.stderr)
	s := sheet(t)
	s.Equal(t, "changes", got.stdout)
	s.Equal(t, "reasons", got.stderr)
	assert.Empty(t, prony(t, "baseline", "propose", a, b).stdout, "both are written")
}

// The command writes observed values into the limit blocks of the scenario's file, and keeps the
// comments.
func TestProposeWritesIntoTheScenario(t *testing.T) {
	inFolder(t)
	const file = "scenarios/tiny.hcl"
	text := tiny("tiny", "100ms", "limit \"cycles_per_s\" { min = 500  because = \"a half\" } # it stays")
	write(t, file, text)
	carrying := func(r *result.Result) {
		startedOn(3)(r)
		r.Manifest.Scenario.File = file
		r.Manifest.Scenario.Limits = []scenario.Limit{{Metric: result.CyclesPerS, Min: new(500.0), Because: "a half", Where: file + ":1:1"}}
	}
	run := stored(t, "runs", "one", carrying)
	changed := `  limit "cycles_per_s" { min = 500  observed = 3000  on = "Some CPU, 2 CPUs, 2026-01-03"  because = "a half" } # it stays`
	got := prony(t, "baseline", "propose", run)
	require.Equal(t, 0, got.code, got.stderr)
	s := sheet(t)
	s.Equal(t, "changes", got.stdout)
	s.Equal(t, "reasons", got.stderr)
	read := func() string {
		t.Helper()
		now, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(now)
	}
	assert.Equal(t, text, read(), "nothing is written without --write")

	got = prony(t, "baseline", "propose", "--write", run)
	require.Equal(t, 0, got.code, got.stderr)
	assert.Contains(t, read(), changed)
	assert.Equal(t, 0, prony(t, "validate", file).code)
	assert.Empty(t, prony(t, "baseline", "propose", run).stdout, "nothing more to propose")

	write(t, file, tiny("renamed", "100ms", ""))
	got = prony(t, "baseline", "propose", run)
	require.Equal(t, 0, got.code, got.stderr)
	s.Equal(t, "without the scenario", got.stderr)
	write(t, file, "scenario")
	got = prony(t, "baseline", "propose", run)
	refused(t, s, "a damaged scenario", got)
}

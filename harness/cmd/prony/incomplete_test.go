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

const didNotFinish = "the run did not finish: it stored 2 of 7 rounds"

// killed stores a run as a killed process leaves it, and an older complete run.
func killed(t *testing.T) (run, complete string) {
	t.Helper()
	run = stored(t, defaultOut, "20261122T090000.000Z-tiny", func(r *result.Result) {
		r.Manifest.Scenario.Title = "Tiny"
	})
	r, _, err := result.Read(run)
	require.NoError(t, err)
	folder, err := result.Open(run)
	require.NoError(t, err)
	require.NoError(t, folder.WriteRounds(result.RoundsDocument{Rounds: r.Rounds, Planned: 7}))
	require.NoError(t, os.Remove(folder.File(result.ResultFile)))
	return run, stored(t, defaultOut, "20261121T090000.000Z-tiny", nil)
}

func TestTheNewestRunMayBeIncomplete(t *testing.T) {
	inFolder(t)
	write(t, "baselines/tiny.hcl", baseline)
	run, complete := killed(t)

	s := sheet(t)
	got := prony(t, "report")
	require.Equal(t, 0, got.code, got.stderr)
	page := filepath.Join(run, "report.md")
	assert.Equal(t, page+"\n", got.stdout)
	s.Equal(t, "a page", got.stderr)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(text), "Verdict: **invalid**")
	assert.Contains(t, string(text), didNotFinish)
	assert.NoFileExists(t, filepath.Join(complete, "report.md"))

	got = prony(t, "check", "--json")
	assert.Equal(t, result.Invalid.ExitCode(), got.code, got.stderr)
	outcome := got.document(t).Scenarios[0]
	assert.Equal(t, []any{run, result.Invalid, didNotFinish}, []any{outcome.Run, outcome.Verdict, outcome.Reasons[0]})
	assert.Contains(t, outcome.Metrics, result.CyclesPerS)

	got = prony(t, "report", "--format", "csv")
	assert.Equal(t, 0, got.code, got.stderr)
	assert.Contains(t, got.stdout, ",tiny,")
	s.Equal(t, "figures", got.stderr)

	got = prony(t, "report", "--publish", "reports")
	refused(t, s, "a published page", got)
	assert.NoDirExists(t, "reports/data")

	// A later complete run is the newest.
	last := stored(t, defaultOut, "20261123T090000.000Z-tiny", nil)
	got = prony(t, "check", "--json")
	assert.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, last, got.document(t).Scenarios[0].Run)
}

// A run that was killed in its first round has a page without rounds.
func TestARunWithoutRounds(t *testing.T) {
	inFolder(t)
	run, _ := killed(t)
	require.NoError(t, os.Remove(filepath.Join(run, result.HistogramsFile)))
	require.NoError(t, os.Remove(filepath.Join(run, result.BenchFile)))
	write(t, filepath.Join(run, result.RoundsFile), `{"version": 4, "rounds": [], "planned": 7}`)
	got := prony(t, "report")
	require.Equal(t, 0, got.code, got.stderr)
	assert.FileExists(t, filepath.Join(run, "report.md"))
	s := sheet(t)
	for _, scenario := range []string{"tiny", "other"} { // with and without limits
		write(t, "baselines/tiny.hcl", strings.Replace(baseline, "tiny", scenario, 1))
		got = prony(t, "check", "--json")
		assert.Equal(t, result.Invalid.ExitCode(), got.code, got.stderr)
		s.Equal(t, "limits of "+scenario, got.document(t).Scenarios[0].Reasons[0])
	}
}

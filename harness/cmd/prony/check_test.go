package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// The exit code and stdout agree.
func TestCheckExitCodes(t *testing.T) {
	inFolder(t)
	write(t, "limits/tiny.hcl", baseline)
	s := sheet(t)
	for _, c := range []struct {
		name   string
		change func(*result.Result)
		code   int
	}{
		{"pass", nil, 0},
		{"below a floor", func(r *result.Result) {
			r.Metrics[result.CyclesPerS] = result.Metric{Median: 400, Low: 400, High: 400, N: 2}
		}, 1},
		{"a metric is missing", func(r *result.Result) { delete(r.Metrics, result.CyclesPerS) }, 1},
		{"a metric is zero", func(r *result.Result) { r.Metrics[result.CyclesPerS] = result.Metric{N: 2} }, 1},
		{"no baseline", func(r *result.Result) { r.Scenario = "other" }, 0},
		{"no baseline, and tasks were lost", func(r *result.Result) {
			r.Scenario, r.Rounds[1].Ledger.Lost = "other", 3
		}, 5},
		{"the run could not be measured", func(r *result.Result) { r.Verdict, r.Reasons = result.Invalid, []string{"the host slept"} }, 3},
		{"the run is inconclusive", func(r *result.Result) { r.Verdict = result.Inconclusive }, 4},
		{"tasks were lost", func(r *result.Result) { r.Rounds[1].Ledger.Lost = 3 }, 5},
		{"the run is incorrect", func(r *result.Result) {
			r.Verdict, r.Reasons = result.Incorrect, []string{"round 1: lost"}
		}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := stored(t, c.name, "run", c.change)
			got := prony(t, "check", "--baselines", "limits", "--json", run)
			assert.Equal(t, c.code, got.code, got.stderr)
			s.Equal(t, c.name, got.stderr)
			document := got.document(t)
			assert.Equal(t, c.code, document.Verdict.ExitCode())
			require.Len(t, document.Scenarios, 1)
			assert.Equal(t, document.Verdict, document.Scenarios[0].Verdict)
			assert.Equal(t, run, document.Scenarios[0].Run)
			if c.code != 0 {
				assert.NotEmpty(t, document.Scenarios[0].Reasons)
			}
			assert.Len(t, document.Scenarios[0].Warnings, 1)
			if document.Verdict == result.Incorrect {
				assert.NotContains(t, document.Scenarios[0].Metrics, result.CyclesPerS, "no figure is published")
			}
			plain := prony(t, "check", "--baselines", "limits", run)
			assert.Equal(t, c.code, plain.code)
			assert.Empty(t, plain.stdout)
			assert.Equal(t, got.stderr, plain.stderr)
		})
	}
}

// JSON has no NaN: a result with one, or with text instead of a number, cannot be read and does not
// pass.
func TestCheckOfANumberThatIsNone(t *testing.T) {
	inFolder(t)
	write(t, "baselines/tiny.hcl", baseline)
	s := sheet(t)
	for i, value := range []string{"NaN", `"NaN"`, "Infinity", "1e999"} {
		run := stored(t, "runs", fmt.Sprint(i), nil)
		path := filepath.Join(run, result.ResultFile)
		var r map[string]any
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &r))
		r["metrics"].(map[string]any)[result.CyclesPerS].(map[string]any)["median"] = "PLACE"
		text, err = json.Marshal(r)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, []byte(replaceOnce(t, string(text), `"PLACE"`, value)), 0o600))
		got := prony(t, "check", "--json", run)
		refused(t, s, value, got)
		assert.Equal(t, result.Misconfigured, got.document(t).Verdict, value)
	}
}

func TestCheckTakesTheNewestRun(t *testing.T) {
	inFolder(t)
	write(t, "baselines/tiny.hcl", baseline)
	stored(t, defaultOut, "1-tiny", nil)
	newest := stored(t, defaultOut, "2-tiny", nil)
	got := prony(t, "check", "--json")
	require.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, newest, got.document(t).Scenarios[0].Run)

	require.NoError(t, os.RemoveAll(newest))
	got = prony(t, "check", "--json")
	assert.Equal(t, 2, got.code)
	assert.Contains(t, got.stderr, "prony: there is no newest run: runs/latest does not exist here")
	assert.Equal(t, result.Misconfigured, got.document(t).Verdict)
}

func TestCheckSeveralRuns(t *testing.T) {
	inFolder(t)
	write(t, "baselines/tiny.hcl", baseline)
	good := stored(t, "a", "good", nil)
	slow := stored(t, "a", "slow", func(r *result.Result) {
		r.Metrics[result.CyclesPerS] = result.Metric{Median: 1, Low: 1, High: 1, N: 2}
	})
	got := prony(t, "check", "--json", good, slow)
	assert.Equal(t, 1, got.code)
	document := got.document(t)
	assert.Equal(t, result.Regressed, document.Verdict)
	require.Len(t, document.Scenarios, 2)
	assert.Equal(t, result.Pass, document.Scenarios[0].Verdict)
	assert.Equal(t, result.Regressed, document.Scenarios[1].Verdict)
}

func TestBaselineWithErrors(t *testing.T) {
	inFolder(t)
	write(t, "baselines/tiny.hcl", "baseline \"tiny\" {\n  flor \"cycles_per_s\" {}\n}\n")
	got := mistake(t, sheet(t), "check", "--json", stored(t, "a", "run", nil))
	assert.Equal(t, result.Misconfigured, got.document(t).Verdict)
}

func TestCheckWritesForCI(t *testing.T) {
	inFolder(t)
	write(t, "baselines/tiny.hcl", "baseline \"tiny\" {\n  floor \"cycles_per_s\" {\n    min     = 2000\n    because = \"it is a test\"\n  }\n}\n")
	run := stored(t, "a", "1", nil)
	got := prony(t, "check", "--json", "--ci", "out", run)
	assert.Equal(t, 1, got.code, got.stderr)
	got.document(t)
	s := sheet(t)
	for _, name := range []string{"summary.md", "annotations.txt", "junit.xml", "comment.md"} {
		text, err := os.ReadFile(filepath.Join("out", name))
		require.NoError(t, err)
		s.Equal(t, name, string(text))
	}
	got = prony(t, "compare", "--ci", "both", run, stored(t, "a", "2", nil))
	assert.FileExists(t, filepath.Join("both", "comment.md"), got.stderr)
	got = prony(t, "check", "--ci", filepath.Join("out", "summary.md"), run)
	assert.Equal(t, 2, got.code, "an error of writing a file fails the command")
}

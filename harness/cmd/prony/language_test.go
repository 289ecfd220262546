package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

// Each file under testdata/language begins with its command line, with FILE for the path of the
// file. The .golden file with the same name has the expected output.
func TestLanguage(t *testing.T) {
	files, err := filepath.Glob("testdata/language/*.hcl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".hcl"), func(t *testing.T) {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			line, _, _ := strings.Cut(string(src), "\n")
			args, is := strings.CutPrefix(line, "# prony ")
			require.True(t, is, "the first line is the command")
			got := prony(t, strings.Fields(strings.ReplaceAll(args, "FILE", filepath.ToSlash(file)))...)
			text := fmt.Sprintf("exit %d\n-- stdout\n%s-- stderr\n%s", got.code, got.stdout, got.stderr)
			assert.NotContains(t, text, "\x1b", "no colour")
			golden.Text(t, strings.TrimSuffix(file, ".hcl")+".golden", text)
		})
	}
}

// One document has the problems of all files. It lists as many as the text output.
func TestValidateJSON(t *testing.T) {
	got := prony(t, "validate", "--json", "testdata/language/names.hcl", "testdata/language/whole.hcl", "testdata/language/sums.hcl")
	assert.Equal(t, 2, got.code)
	assert.Empty(t, got.stderr)
	var v validation
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &v))
	assert.False(t, v.Valid)
	assert.Empty(t, v.Scenarios)
	files := map[string]int{}
	for _, p := range v.Problems {
		files[p.File]++
		assert.NotEmpty(t, p.Message)
		assert.Positive(t, p.Line)
		assert.Positive(t, p.Column)
	}
	assert.Len(t, files, 2)
	text := prony(t, "validate", "testdata/language/names.hcl", "testdata/language/whole.hcl", "testdata/language/sums.hcl")
	assert.Contains(t, text.stderr, fmt.Sprintf("%d errors in 2 files\n", len(v.Problems)))

	got = prony(t, "validate", "--json", "testdata/language/whole.hcl")
	assert.Equal(t, 0, got.code)
	v = validation{}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &v))
	assert.True(t, v.Valid)
	assert.Equal(t, []namedScenario{{"whole", "testdata/language/whole.hcl"}}, v.Scenarios)
	assert.NotNil(t, v.Problems)
}

func TestExplainJSON(t *testing.T) {
	got := prony(t, "explain", "--json", "testdata/language/whole.hcl")
	require.Equal(t, 0, got.code, got.stderr)
	var e explanation
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &e))
	require.Len(t, e.Scenarios, 1)
	s := e.Scenarios[0]
	assert.Equal(t, 4*3, s.RoundsTimed)
	assert.Equal(t, 4, s.RoundsProfiled)
	assert.Len(t, s.Points, 4)
	assert.InDelta(t, 16*(1+10+1+1), s.SecondsExpected, 0)
	assert.InDelta(t, 16*(1+10+30), s.SecondsAtMost, 0)
	assert.Empty(t, s.Effects, "three rounds are too few")
	require.Len(t, s.Percentiles, 5)
	assert.Equal(t, percentile{Percentile: 99, CyclesMin: 368, CyclesPerS: 368.0 / 30, Offered: true}, s.Percentiles[2])
}

func TestListOfFolders(t *testing.T) {
	got := prony(t, "list", "--json", "testdata/language/many")
	require.Equal(t, 0, got.code, got.stderr)
	var l listing
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &l))
	require.Len(t, l.Scenarios, 3, "the included file is skipped")
	assert.Equal(t, listedScenario{
		Name: "first", Title: "The first one", Tags: []string{"smoke"}, File: "testdata/language/many/first.hcl",
		Topology: "single", Durability: "none", Points: 1, Rounds: 2, SecondsExpected: 2 * (1 + 1 + 1 + 1),
	}, l.Scenarios[1])

	s := sheet(t)
	got = prony(t, "list", "--tag", "smoke", "--tag", "raft", "testdata/language/many")
	assert.Equal(t, 0, got.code)
	s.Equal(t, "scenarios with all tags", got.stdout)

	got = mistake(t, s, "list", "--json", "--tag", "smokes", "testdata/language/many")
	assert.Equal(t, result.Misconfigured, got.document(t).Verdict)
	got = mistake(t, s, "list", "--tag", "nope", "testdata/language/many")
	assert.Empty(t, got.stdout)
	assert.Equal(t, "prony: --tag \"nope\": no scenario in testdata/language/many has that tag; there are alone, raft, smoke\n", got.stderr)
	got = prony(t, "list", "--json", "--tag", "smoke", "--tag", "alone", "testdata/language/many")
	assert.Equal(t, 0, got.code, got.stderr)
	assert.JSONEq(t, `{"scenarios": []}`, got.stdout)
	s.Equal(t, "no scenario with all tags", got.stderr)

	got = prony(t, "list", "testdata/language")
	assert.Equal(t, 2, got.code, "errors of a file are reported")
	assert.Contains(t, got.stderr, "testdata/language/names.hcl:")
}

// The server settings in the repository's scenarios exist in its server.
func TestScenariosSayKnownSettings(t *testing.T) {
	knobs, err := filepath.Glob("../../../scenarios/knobs/*.hcl")
	require.NoError(t, err)
	require.NotEmpty(t, knobs)
	got := prony(t, append([]string{"validate", "../../../scenarios/group-commit.hcl", "../../../scenarios/group-commit-raft.hcl", "../../../scenarios/procs.hcl"}, knobs...)...)
	assert.Equal(t, 0, got.code, got.stderr)
	for _, file := range knobs {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(src), "scenario \"knob-"+strings.TrimSuffix(filepath.Base(file), ".hcl")+"\"", file)
		assert.True(t, strings.HasPrefix(string(src), "# "), "%s begins with the reason", file)
	}
}

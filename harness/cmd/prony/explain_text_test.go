package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/scenario"
)

func TestReadsInWords(t *testing.T) {
	w := scenario.Workload{Name: "main", Driver: "stream", Reads: scenario.Reads{Get: 0.2}}
	assert.Contains(t, workloadInWords(w), ", 0.25 reads for each task (reads = 0.2)")
	w.Reads = scenario.Reads{List: 0.25, Await: 0.25}
	assert.Contains(t, workloadInWords(w), ", 0.5 lists of a queue, 0.5 waits for a task's end for each task (reads = [list(0.25), await(0.25)])")
	w.Reads = scenario.Reads{}
	assert.NotContains(t, workloadInWords(w), "read")
}

func TestExplainAllSaysHowLongAllTakes(t *testing.T) {
	inFolder(t)
	write(t, "scenarios/one.hcl", tiny("one", "10s", ""))
	write(t, "scenarios/deep/two.hcl", tiny("two", "3s", `sweep "workload.main.batch" { values = [1, 2, 4] }`))
	ran := prony(t, "explain", "--all")
	assert.Equal(t, 0, ran.code, ran.stderr)
	lines := strings.Split(ran.stdout, "\n")
	assert.Regexp(t, `^NAME +POINTS +ROUNDS +TIME +FILE$`, lines[0])
	assert.Regexp(t, `two +3 +6 +\S+ +scenarios/deep/two.hcl\n`, ran.stdout)
	assert.Regexp(t, `one +1 +2 +\S+ +scenarios/one.hcl\n`, ran.stdout)
	assert.Regexp(t, `all of them +4 +8 +\S+ *\n$`, ran.stdout)

	var of explanation
	require.NoError(t, json.Unmarshal([]byte(prony(t, "explain", "--all", "--json").stdout), &of))
	require.Len(t, of.Scenarios, 2)
	assert.InDelta(t, of.Scenarios[0].SecondsExpected+of.Scenarios[1].SecondsExpected, of.SecondsExpected, 1e-9)
	assert.Greater(t, of.SecondsExpected, 2*10+6*3.0)

	ran = prony(t, "explain", "--all", "scenarios/one.hcl")
	assert.Equal(t, 2, ran.code)
	assert.Contains(t, ran.stderr, "--all takes the scenarios of scenarios/: leave out scenarios/one.hcl")
}

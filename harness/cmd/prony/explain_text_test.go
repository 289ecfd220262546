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
	assert.Contains(t, workloadInWords(w), ", 0.5 lists of a queue, 0.5 waits for the end of a task for each task (reads = [list(0.25), await(0.25)])")
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
	assert.Contains(t, ran.stderr, "--all uses the scenarios of scenarios/: leave out scenarios/one.hcl")
}

func TestTargetsInWords(t *testing.T) {
	top := scenario.Topology{Kind: scenario.ByProgram, Nodes: 3, Durability: "majority", Target: &scenario.TargetServers{Name: "nats"}, Settings: map[string]string{"a": "b"}}
	assert.Equal(t, "target nats, 3 nodes, durability majority, a = b, started by the driver program", topologyInWords(top))
	top.Target.Addresses, top.Target.Program, top.Settings = []string{"a:1", "b:1", "c:1"}, "bin/mine", nil
	assert.Equal(t, "target nats, 3 nodes, durability majority, attached at a:1, b:1, c:1 by the driver program bin/mine", topologyInWords(top))
}

// The scenarios for other queue servers and for Prony are valid, even if the servers are not
// installed.
func TestPeersAreExplained(t *testing.T) {
	got := prony(t, "explain", "../../../scenarios/peers.hcl")
	require.Equal(t, 0, got.code, got.stderr)
	for _, says := range []string{
		"peers: Queue servers that acknowledge after an fsync\n", "topology   target prony, 1 node, durability fsync, started by the driver program",
		"over 4 connections of driver program", `36. name=asynq, batch=64, in_flight=4096, payload=fixed("4KiB")`, "fault      kill of all() at 5s for 1s",
	} {
		assert.Contains(t, got.stdout, says)
	}
}

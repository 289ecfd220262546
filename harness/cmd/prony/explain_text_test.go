package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/scenario"
)

func TestScenariosInWords(t *testing.T) {
	s := sheet(t)
	w := scenario.Workload{Name: "main", Driver: "stream", Reads: scenario.Reads{Get: 0.2}}
	s.Equal(t, "reads of tasks", workloadInWords(w))
	w.Reads = scenario.Reads{List: 0.25, Await: 0.25}
	s.Equal(t, "other reads", workloadInWords(w))
	w.Reads = scenario.Reads{}
	s.Equal(t, "no reads", workloadInWords(w))

	top := scenario.Topology{Kind: scenario.ByProgram, Nodes: 3, Durability: "majority", Target: &scenario.TargetServers{Name: "nats"}, Settings: map[string]string{"a": "b"}}
	s.Equal(t, "started servers", topologyInWords(top))
	top.Target.Addresses, top.Target.Program, top.Settings = []string{"a:1", "b:1", "c:1"}, "bin/mine", nil
	s.Equal(t, "running servers", topologyInWords(top))

	for name, o := range map[string]scenario.Observe{
		"observe nothing": {}, "observe metrics": {Scrape: time.Second}, "observe profiles": {Profiles: true}, "observe both": {Scrape: time.Second, Profiles: true},
	} {
		s.Equal(t, name, observedText(&scenario.Scenario{Observe: &o}))
	}
	s.Equal(t, "observe the points of a sweep", observedText(&scenario.Scenario{Observe: &scenario.Observe{}, Points: make([]scenario.Point, 2)}))
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

package scenario

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func TestTargetServers(t *testing.T) {
	all, err := Load("testdata/targets.hcl")
	require.NoError(t, err)
	text, err := json.MarshalIndent(all, "", "  ")
	require.NoError(t, err)
	golden.Text(t, "testdata/targets.json", string(text)+"\n")
	for i, words := range []string{"target redis-stream, 1 node", "target mine, 2 nodes", "target redis, 1 node"} {
		assert.Equal(t, words, all[i].Topology.String())
		assert.False(t, all[i].Topology.Clustered())
		for _, s := range all[i].Settings() {
			assert.NotEqual(t, NotRecorded, s.Value, s.Path)
		}
	}
	assert.Contains(t, all[0].Settings(), Setting{Path: "topology.target.name", Value: "redis-stream"})
	assert.Equal(t, startExpected, all[0].StartExpected())
	assert.Equal(t, startExpected, all[1].StartExpected(), "its nodes already run")
	assert.Equal(t, othersStartExpected, all[2].StartExpected(), "three nodes at some points")
}

// A sweep can vary the target, and the points of a stored scenario equal those of the original.
func TestTargetsAreSwept(t *testing.T) {
	all, err := Load("testdata/targets.hcl")
	require.NoError(t, err)
	s := all[2]
	require.Len(t, s.Points, 6)
	assert.Equal(t, "name=nats, guarantee=majority, nodes=3, batch=64", s.Points[5].Name)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	var stored Scenario
	require.NoError(t, json.Unmarshal(text, &stored))
	for _, p := range s.Points {
		again, known := stored.At(p.Values)
		require.True(t, known)
		assert.Equal(t, p.Topology, again.Topology)
		assert.Equal(t, p.Workloads[0].Batch, again.Workloads[0].Batch)
	}
	assert.Equal(t, "redis", stored.Topology.Target.Name, "the stored scenario is unchanged")
	assert.Equal(t, []string{"os", "fsync", "majority"}, s.SweptTogether("target.guarantee"), "a sweep in a zip")
	assert.Equal(t, []string{"redis", "nats"}, s.SweptTogether("target.name"), "each once")
	assert.Equal(t, []string{"1", "64"}, s.SweptTogether("workload.main.batch"), "a sweep outside of a zip")
	assert.Empty(t, s.SweptTogether("topology.durability"))
	_, known := stored.At([]Value{{Path: "target.program", Text: "x"}})
	assert.False(t, known)
}

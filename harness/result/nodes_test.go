package result_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

func TestNodesAreStored(t *testing.T) {
	r, hists := sampleResult(t)
	nodes := []result.Node{
		{ID: "n1", Leads: []int{0, 2}, Metrics: map[string]float64{result.RaftElections: 0}, Server: map[string]float64{"prony_raft_term": 3}},
		{ID: "n2", Metrics: map[string]float64{}},
	}
	r.Rounds[2].Nodes = nodes
	r.Profiles[0].Node = "n2"
	got, _, err := result.Read(store(t, r, hists).Path())
	require.NoError(t, err)
	assert.Equal(t, nodes, got.Rounds[2].Nodes)
	assert.Empty(t, got.Rounds[1].Nodes)
	assert.Equal(t, "n2", got.Profiles[0].Node)
	assert.Equal(t, 4, got.Version)

	for _, bad := range infinite {
		for _, metrics := range []map[string]float64{nodes[0].Metrics, nodes[0].Server} {
			metrics["x"] = bad
			f, err := result.Create(t.TempDir(), r.Run)
			require.NoError(t, err)
			require.ErrorContains(t, f.Store(r, hists), "rounds[2].nodes[0].")
			delete(metrics, "x")
		}
	}
}

package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClusters(t *testing.T) {
	all, err := Load("testdata/raft.hcl")
	require.NoError(t, err)
	assert.Equal(t, Topology{Kind: Raft, Nodes: 5, Shards: 4, Durability: "sync", Listen: "tcp", Coalesce: new(false)}, all[0].Topology)

	cost := all[1]
	var names []string
	for _, p := range cost.Points {
		names = append(names, p.Name)
	}
	assert.Equal(t, []string{
		"kind=single(), durability=none, shards=1", "kind=single(), durability=sync, shards=1",
		"kind=sharded(), durability=none, shards=1", "kind=sharded(), durability=sync, shards=1",
		"kind=raft(1), durability=none, shards=1", "kind=raft(1), durability=sync, shards=1",
		"kind=raft(3), durability=none, shards=1", "kind=raft(3), durability=sync, shards=1",
	}, names)
	assert.Equal(t, Topology{Kind: "single", Shards: 1, Durability: "none", Listen: "tcp"}, cost.Points[0].Topology)
	assert.Equal(t, Topology{Kind: Raft, Nodes: 1, Shards: 1, Durability: "none", Listen: "tcp", Coalesce: new(true)}, cost.Points[4].Topology)
	assert.Equal(t, Topology{Kind: Raft, Nodes: 3, Shards: 1, Durability: "sync", Listen: "tcp", Coalesce: new(true)}, cost.Points[7].Topology)

	nodes := all[2]
	require.Len(t, nodes.Points, 6)
	assert.Equal(t, Topology{Kind: Raft, Nodes: 7, Shards: 1, Durability: "none", Listen: "tcp", Coalesce: new(false)}, nodes.Points[5].Topology)
	assert.Equal(t, "nodes=7, coalesce=false", nodes.Points[5].Name)
}

// A cluster has three nodes by default.
func TestClusterDefaults(t *testing.T) {
	all, err := parse("a.hcl", []byte(`scenario "a" {
  topology "raft" { durability = "none" }
  workload "main" {
    driver = "stream"  
    producers = 1
    workers = 1
  }
  phases { window = "1s" }
}`), nil)
	require.NoError(t, err)
	assert.Equal(t, Topology{Kind: Raft, Nodes: 3, Shards: 1, Durability: "none", Listen: "tcp", Coalesce: new(true)}, all[0].Topology)
}

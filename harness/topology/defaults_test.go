package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

func TestOnlyDefaults(t *testing.T) {
	topology := scenario.Topology{Kind: scenario.Single, Shards: 1, Durability: "sync", DefaultSettings: true}
	settings := func(durability, origin, shards string) []result.ServerSetting {
		return []result.ServerSetting{
			// The data folder is a place, not a setting.
			{Name: "data", Value: "/somewhere", Origin: "flag"},
			{Name: "durability", Value: durability, Origin: origin},
			{Name: "shards", Value: shards, Origin: "default"},
			{Name: "gomaxprocs", Value: "2", Origin: "runtime"},
		}
	}
	s := golden.Cases(t, "testdata/defaults.golden")
	require.NoError(t, onlyDefaults(settings("sync", "default", "1"), topology))
	s.Error(t, "from the environment", onlyDefaults(settings("sync", "environment", "1"), topology))
	s.Error(t, "another durability", onlyDefaults(settings("none", "default", "1"), topology))
	s.Error(t, "other shards", onlyDefaults(settings("sync", "default", "4"), topology))
	s.Error(t, "no settings", onlyDefaults(nil, topology))
}

// The server gets its addresses and its data folder as arguments, and nothing else.
func TestDefaultSettingsAreNoArguments(t *testing.T) {
	s := &Server{cluster: &Cluster{config: Config{Topology: scenario.Topology{Kind: scenario.Single, Shards: 1, Durability: "sync", Listen: "tcp", DefaultSettings: true}}}}
	var flags []string
	for i, a := range s.arguments() {
		if i%2 == 1 {
			flags = append(flags, a)
		}
	}
	assert.Equal(t, []string{"--data", "--listen", "--http", "--admin", "--address-file"}, flags)
	s.cluster.config.Topology.DefaultSettings = false
	assert.Contains(t, s.arguments(), "--durability")
}

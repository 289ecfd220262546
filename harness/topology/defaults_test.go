package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	require.NoError(t, onlyDefaults(settings("sync", "default", "1"), topology))
	assert.ErrorContains(t, onlyDefaults(settings("sync", "environment", "1"), topology), `durability is "sync" from the environment`)
	assert.ErrorContains(t, onlyDefaults(settings("none", "default", "1"), topology), `the default of durability is "none", the scenario expects "sync"`)
	assert.ErrorContains(t, onlyDefaults(settings("sync", "default", "4"), topology), `the default of shards is "4"`)
	assert.ErrorContains(t, onlyDefaults(nil, topology), "the server does not publish its")
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

package prony

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/scenario"
)

func TestGuaranteeAndSettingsDecideTheServers(t *testing.T) {
	one, err := topologyOf(program.LaunchSpec{Guarantee: program.Fsync, Nodes: 1})
	require.NoError(t, err)
	assert.Equal(t, scenario.Topology{Kind: "single", Shards: 1, Durability: "sync", Listen: "tcp", Procs: 1}, one)
	three, err := topologyOf(program.LaunchSpec{Guarantee: program.Majority, Nodes: 3, Settings: map[string]string{"procs": "2"}})
	require.NoError(t, err)
	assert.Equal(t, scenario.Topology{Kind: "raft", Nodes: 3, Coalesce: new(true), Shards: 1, Durability: "none", Listen: "tcp", Procs: 2}, three)
}

func TestUnknownAndBadSettingsAreRefused(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"procs", "0", `setting procs = "0": it is each server's GOMAXPROCS, a number from 1 to `},
		{"procs", "many", `setting procs = "many": it is each server's GOMAXPROCS, a number from 1 to `},
		{"shards", "2", `setting "shards": prony has no such setting here; it has ["procs"]`},
	} {
		_, err := topologyOf(program.LaunchSpec{Guarantee: program.Fsync, Nodes: 1, Settings: map[string]string{c.name: c.value}})
		assert.ErrorContains(t, err, c.want)
	}
}

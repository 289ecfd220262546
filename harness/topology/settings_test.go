package topology

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/scenario"
)

// The settings of a scenario are flags of the server, whatever their kind.
func TestSettingsAreArguments(t *testing.T) {
	s := &Server{cluster: &Cluster{config: Config{Topology: scenario.Topology{
		Kind: scenario.Single, Shards: 1, Durability: "none", Listen: "tcp",
		Settings: map[string]string{"storage.memtable_size": "8MiB", "commit.group": "false", "memory": "1GiB"},
	}}}}
	args := strings.Join(s.arguments(), " ")
	assert.Contains(t, args, " --commit-group=false --memory=1GiB --storage-memtable-size=8MiB --address-file")
}

// What this package chooses or what a topology says otherwise is refused in a settings block, and each name of that list is a setting.
func TestTheSettingsThatPronyOwns(t *testing.T) {
	owned := scenario.OwnedSettings()
	for _, name := range owned {
		message, _ := CheckSetting(name, "")
		assert.NotContains(t, message, "has no setting", name)
	}
	for _, place := range places {
		assert.Contains(t, owned, place)
	}
	s := &Server{ID: "n1", cluster: &Cluster{tls: "tls", certs: "certs", config: Config{Topology: scenario.Topology{
		Kind: scenario.Raft, Nodes: 1, Shards: 2, Durability: "interval", SyncInterval: 1, Listen: "tcp", BusyPoll: true, Coalesce: new(false),
	}}}}
	flags := map[string]bool{}
	for _, name := range owned {
		flags["--"+strings.NewReplacer(".", "-", "_", "-").Replace(name)] = true
	}
	for _, a := range s.arguments() {
		if name, _, _ := strings.Cut(a, "="); strings.HasPrefix(a, "--") {
			assert.True(t, flags[name], "%s is given to each server, so that a settings block must not have it", name)
		}
	}
}

func TestSettingsAreRefusedWhereNoServerTakesThem(t *testing.T) {
	c := Config{Topology: scenario.Topology{Kind: scenario.Embedded, Shards: 1, Durability: "none", Settings: map[string]string{"memory": "1GiB"}}}
	assert.EqualError(t, c.prepare(), `settings are given to topology "embedded", whose server takes none`)
}

package topology

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/scenario"
)

// The settings of a scenario become flags of the server, for all kinds of values.
func TestSettingsAreArguments(t *testing.T) {
	s := &Server{cluster: &Cluster{config: Config{Topology: scenario.Topology{
		Kind: scenario.Single, Shards: 1, Durability: "none", Listen: "tcp",
		Settings: map[string]string{"storage.memtable_size": "8MiB", "commit.group": "false", "memory": "1GiB"},
	}}}}
	args := strings.Join(s.arguments(), " ")
	assert.Contains(t, args, " --commit-group=false --memory=1GiB --storage-memtable-size=8MiB --address-file")
}

// A settings block must not contain settings that this package chooses or that other attributes of
// a topology set. Each name of that list is a setting.
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
			assert.True(t, flags[name], "%s is set for each server, so a settings block must not contain it", name)
		}
	}
}

func TestSettingsAreRefusedWhereNoServerTakesThem(t *testing.T) {
	c := Config{Topology: scenario.Topology{Kind: scenario.Embedded, Shards: 1, Durability: "none", Settings: map[string]string{"memory": "1GiB"}}}
	assert.EqualError(t, c.prepare(), `topology "embedded" does not support settings`)
}

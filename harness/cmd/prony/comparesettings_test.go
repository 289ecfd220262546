package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// A default that a commit changes is what the comparison is about. A value that somebody gave one side only is refused, and so is any
// difference between runs of different times, which may be of different hosts.
func TestAChangedDefaultIsAPartOfTheChange(t *testing.T) {
	said := func(value, origin string) []result.ServerSettings {
		return []result.ServerSettings{{Settings: []result.ServerSetting{{Name: "stall_max", Value: value, Origin: origin}}}}
	}
	run := func(servers []result.ServerSettings) *result.Result {
		return &result.Result{Scenario: "tiny", Manifest: result.Manifest{Scenario: scenario.Scenario{Name: "tiny"}, Servers: servers}}
	}
	const refused = `the settings of base and change differ: the server's stall_max is "10s" and "45s"`
	require.NoError(t, checkServers(said("10s", "default"), said("45s", "default")))
	require.NoError(t, checkServers(said("10s", "runtime"), said("45s", "runtime")))
	for _, origins := range [][2]string{{"default", "flag"}, {"environment", "default"}, {"file", "file"}} {
		assert.ErrorContains(t, checkServers(said("10s", origins[0]), said("45s", origins[1])), refused, origins)
	}
	assert.ErrorContains(t, checkSettings(run(said("10s", "default")), run(said("45s", "default"))), refused)
	assert.NoError(t, checkSettings(run(said("10s", "default")), run(said("10s", "default"))))
}

package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/scenario"
)

// A page has the server settings by their names in the server, with all values of a sweep, and the
// build options of the server.
func TestServerSettingsOfThePage(t *testing.T) {
	s := &scenario.Scenario{
		Topology: scenario.Topology{
			Kind: scenario.Single, Settings: map[string]string{"storage.memtable_size": "8MiB", "commit.group": "true"},
			Build: &scenario.ServerBuild{Tags: []string{"a", "b"}, Race: true, GOAMD64: "v3"},
		},
		Sweeps: []scenario.Sweep{{Path: "topology.settings.commit.group", Values: []string{"true", "false"}}},
	}
	table := settings{scenario: s}
	table.addRows(table.scenario.Topology.ServerRows())
	assert.Equal(t, [][]string{
		{"server's commit.group", "swept: `true`, `false`"},
		{"server's storage.memtable_size", "`8MiB`"},
		{"server's build tags", "`a,b`"},
		{"server's race detector", "`true`"},
		{"server's GOAMD64", "`v3`"},
	}, table.rows)
}

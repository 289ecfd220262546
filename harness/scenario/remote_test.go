package scenario

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func TestRemote(t *testing.T) {
	all, err := Load("testdata/remote.hcl")
	require.NoError(t, err)
	text, err := json.MarshalIndent(all, "", "  ")
	require.NoError(t, err)
	golden.Text(t, "testdata/remote.json", string(text)+"\n")
	for i, want := range []struct {
		attached, clustered bool
		names               []string
		words               string
	}{
		{true, true, []string{"a", "b"}, "remote, 2 nodes, 4 shards"},
		{false, false, nil, "remote, 1 node"},
		{false, true, []string{"n1", "n2", "n3"}, "remote, 3 nodes"},
	} {
		got := all[i].Topology
		assert.Equal(t, want.attached, got.Attached())
		assert.Equal(t, want.clustered, got.Clustered())
		assert.Equal(t, want.names, got.NodeNames())
		assert.Equal(t, want.words, got.String())
		for _, s := range all[i].Settings() {
			assert.NotEqual(t, NotRecorded, s.Value, s.Path)
		}
	}
}

// The configuration does not depend on the locations of the servers, but on the number of nodes and
// the durability.
func TestConfigurationOfRemoteServers(t *testing.T) {
	of := func(nodes, durability string) string {
		all, err := parse("x.hcl", []byte(`scenario "x" {
  topology "remote" {
    durability = "`+durability+`"
    `+nodes+`
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "10s" }
}`), nil)
		require.NoError(t, err)
		return all[0].Configuration()
	}
	const (
		one   = `node "n1" { address = "a:1"  admin = "a:2" }`
		other = `node "m1" { address = "b:1"  http = "b:3"  admin = "b:2"  ssh = "b"  dir = "/d" }`
		two   = `node "n1" { address = "a:1"  http = "a:3"  admin = "a:2" }
    node "n2" { address = "b:1"  http = "b:3"  admin = "b:2" }`
	)
	assert.Equal(t, of(one, "sync"), of(other, "sync"))
	assert.NotEqual(t, of(one, "sync"), of(one, "none"))
	assert.NotEqual(t, of(one, "sync"), of(two, "sync"))
}

package scenario

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDefaultSettings(t *testing.T) {
	load := func(kind, attributes string) ([]*Scenario, error) {
		file := filepath.Join(t.TempDir(), "a.hcl")
		require.NoError(t, os.WriteFile(file, []byte(`scenario "a" {
  topology "`+kind+`" {
    durability       = "sync"
    default_settings = true
    `+attributes+`
  }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
  }
  phases { window = "1s" }
}
`), 0o600))
		return Load(file)
	}
	s, err := load("single", "")
	require.NoError(t, err)
	assert.True(t, s[0].Topology.DefaultSettings)
	for kind, attributes := range map[string]string{"single": "procs = 1", "sharded": "shards = 2", "raft": "nodes = 3"} {
		_, err := load(kind, attributes)
		assert.ErrorContains(t, err, "default_settings", kind)
	}
}

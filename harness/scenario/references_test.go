package scenario

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func referring(t *testing.T, references, topology, driver string) ([]*Scenario, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.hcl", []byte(`scenario "a" {
  references = `+references+`
  topology "`+topology+`
  workload "main" {
    driver    = "`+driver+`"
    producers = 1
    workers   = 1
    payload   = fixed(64)
    arrivals  = closed()
  }
  phases {
    warmup = "1s"
    window = "1s"
    drain  = "1s"
  }
  invariant "conserved" {}
}
`), 0o600))
	return Load("a.hcl")
}

func TestReferences(t *testing.T) {
	const single = "single\" {\n durability = \"none\"\n }"
	all, err := referring(t, `["cpu", "echo", "pebble_commit", "fsync"]`, single, "stream")
	require.NoError(t, err)
	assert.Equal(t, []string{"cpu", "echo", "pebble_commit", "fsync"}, all[0].References)
	text, err := json.Marshal(all[0])
	require.NoError(t, err)
	var again Scenario
	require.NoError(t, json.Unmarshal(text, &again))
	assert.Equal(t, all[0].References, again.References)

	s := golden.Cases(t, "testdata/references.golden")
	_, err = referring(t, `["cpuu"]`, single, "stream")
	s.Error(t, "unknown", err)
	_, err = referring(t, `["cpu", "cpu"]`, single, "stream")
	s.Error(t, "twice", err)
	_, err = referring(t, `["echo"]`, "none\" {}", "null")
	s.Error(t, "no transport", err)
	_, err = referring(t, `["cpu"]`, "none\" {}", "null")
	require.NoError(t, err)
}

package scenario

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func referring(t *testing.T, references, topology, driver string) ([]*Scenario, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.hcl")
	require.NoError(t, os.WriteFile(path, []byte(`scenario "a" {
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
	return Load(path)
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

	_, err = referring(t, `["cpuu"]`, single, "stream")
	require.ErrorContains(t, err, `unknown reference "cpuu"`)
	require.ErrorContains(t, err, `did you mean "cpu"?`)
	_, err = referring(t, `["cpu", "cpu"]`, single, "stream")
	require.ErrorContains(t, err, "twice")
	_, err = referring(t, `["echo"]`, "none\" {}", "null")
	require.ErrorContains(t, err, `"null" has no transport for an echo`)
	_, err = referring(t, `["cpu"]`, "none\" {}", "null")
	require.NoError(t, err)
}

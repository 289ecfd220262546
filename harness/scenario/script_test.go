package scenario

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// scripted writes a scenario that runs the given script, and returns the path of its file.
func scripted(t *testing.T, dir, script string) string {
	t.Helper()
	path := filepath.Join(dir, "scripted.hcl")
	require.NoError(t, os.WriteFile(path, []byte(complete(t, `
workload "main" {
  driver    = "k6"
  script    = "`+script+`"
  producers = 1
  workers   = 1
}
`)), 0o600))
	return path
}

func TestScriptIsBesideTheScenario(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "k6"), 0o700))
	content := []byte("export default function () {}\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "k6", "plan.js"), content, 0o600))
	all, err := Load(scripted(t, dir, "k6/../k6/plan.js"))
	require.NoError(t, err)
	w := all[0].Workloads[0]
	assert.Equal(t, Script{Path: filepath.Join(dir, "k6", "plan.js"), SHA256: fmt.Sprintf("%x", sha256.Sum256(content))}, w.Script)
	assert.Zero(t, w.Connections, "the connections of the script are unknown")
	assert.Zero(t, w.Seed)
}

func TestScriptHasABoundedSize(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "large.js")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("\n", ScriptBytesMax)), 0o600))
	_, err := Load(scripted(t, dir, "large.js"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("\n", ScriptBytesMax+1)), 0o600))
	_, err = Load(scripted(t, dir, "large.js"))
	s := golden.Cases(t, "testdata/largescript.golden")
	s.Replace(dir, "FOLDER")
	s.Error(t, "too large", err)
}

// The scripts of a sweep are read, and each point has the hash of its script.
func TestSweptScript(t *testing.T) {
	all, err := Load("../cmd/prony/testdata/language/scripts.hcl")
	require.NoError(t, err)
	require.Len(t, all[0].Points, 2)
	one, two := all[0].Points[0].Workloads[0].Script, all[0].Points[1].Workloads[0].Script
	assert.Equal(t, "../cmd/prony/testdata/language/scripts/one.js", one.Path)
	assert.Equal(t, "../cmd/prony/testdata/language/scripts/two.js", two.Path)
	assert.NotEqual(t, one.SHA256, two.SHA256)
	assert.Equal(t, []Script{one, two}, all[0].Scripts)
}

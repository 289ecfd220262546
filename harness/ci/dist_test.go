package ci_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/version"
)

func TestDistRefuses(t *testing.T) {
	c := clone(t, "../..")
	s := golden.Cases(t, "testdata/dist.golden")
	c.refuses(s, "no version", "dist")
	c.refuses(s, "an invalid version", "dist", "1.2.3")
	c.refuses(s, "no tag of the engine", "dist", released)
	c.git("tag", "engine/"+released)
	c.refuses(s, "no tag of the harness", "dist", released)
	c.git("commit", "--quiet", "--allow-empty", "-m", "Next")
	c.git("tag", "harness/"+released)
	c.refuses(s, "tags on two commits", "dist", released)
	c.git("tag", "--force", "harness/"+released, "engine/"+released)
	c.refuses(s, "no tag of k6", "dist", released)
	c.git("tag", "harness/k6/"+released, "engine/"+released)
	c.refuses(s, "no tag of the peers", "dist", released)
	c.git("tag", "harness/peers/"+released, "engine/"+released)
	c.refuses(s, "a full folder", "dist", released, "ci")
}

// TestDistIsReproducible builds a release twice, in two folders and with two build caches, and
// compares the checksums.
func TestDistIsReproducible(t *testing.T) {
	longtest.Only(t)
	first := clone(t, "../..")
	first.must(nil, filepath.Join(first.dir, "ci/release"), released)
	second := clone(t, first.dir)
	folder, again := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "again", "deeper")
	t.Log(first.must(nil, filepath.Join(first.dir, "ci/dist"), released, folder))
	second.must([]string{"GOCACHE=" + t.TempDir()}, filepath.Join(second.dir, "ci/dist"), released, again)
	sums, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	require.NoError(t, err)
	other, err := os.ReadFile(filepath.Join(again, "SHA256SUMS"))
	require.NoError(t, err)
	assert.Equal(t, string(sums), string(other))

	there := checkout{t, folder}
	there.must(nil, "sha256sum", "--check", "--strict", "SHA256SUMS")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Len(t, strings.Split(strings.TrimSpace(string(sums)), "\n"), len(entries)-1, "all files but the list itself")
	commit := first.git("rev-parse", "engine/"+released+"^{commit}")
	for _, program := range []string{"queued", "prony"} {
		for _, architecture := range []string{"amd64", "arm64"} {
			name := program + "-" + released + "-linux-" + architecture
			there.hasBillOfMaterials(name+".cdx.json", program)
			if architecture != runtime.GOARCH {
				continue
			}
			var v version.Info
			require.NoError(t, json.Unmarshal([]byte(there.must(nil, "./"+name, "version", map[string]string{"queued": "--output=json", "prony": "--json"}[program])), &v))
			assert.Equal(t, version.Info{Version: released, Commit: commit, Dirty: new(false), Go: runtime.Version(), Platform: "linux/" + architecture}, v)
		}
	}
}

// hasBillOfMaterials checks the SBOM of a program: it must have the program's name, and the
// versions of its modules.
func (c checkout) hasBillOfMaterials(name, program string) {
	c.Helper()
	type component struct{ Name, Version, PURL string }
	var bom struct {
		BOMFormat    string
		SerialNumber string
		Metadata     struct{ Component component }
		Components   []component
	}
	require.NoError(c, json.Unmarshal([]byte(c.file(name)), &bom))
	assert.Equal(c, "CycloneDX", bom.BOMFormat)
	module := map[string]string{"queued": "engine", "prony": "harness"}[program]
	assert.Equal(c, modulePath+module, bom.Metadata.Component.Name)
	assert.Equal(c, released, bom.Metadata.Component.Version)
	versions := map[string]string{}
	for _, part := range bom.Components {
		assert.NotEmpty(c, part.PURL)
		versions[part.Name] = part.Version
	}
	assert.Greater(c, len(versions), 30)
	assert.Contains(c, versions, "google.golang.org/grpc")
	assert.Contains(c, versions, "std")
	if program == "prony" {
		assert.Equal(c, released, versions[modulePath+"engine"])
	}
}

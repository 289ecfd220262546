package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// On two load hosts with half of the VUs each, running concurrently, the ledger of each balances.
func TestTwoSegmentsBalance(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{
		"smoke.js":        {"DURATION=2s"},
		"sustained.js":    {"DURATION=1s", "WARMUP=200ms", "RATE=100", "UNSENT_MAX=100"},
		"multi-tenant.js": {"DURATION=1s", "RATE=10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			env = append(append(s.environment(), patient...), env...)
			path := filepath.Join(root, "scenarios", "k6", name)
			var hosts []func() outcome
			for _, segment := range []string{"0:1/2", "1/2:1"} {
				hosts = append(hosts, start(t, env, "--execution-segment", segment, "--execution-segment-sequence", "0,1/2,1", path))
			}
			for _, host := range hosts {
				o := host()
				o.balanced(t)
				assert.Positive(t, o.metrics["prony_cycles"].figures["count"])
			}
		})
	}
}

// A script can be sent to load hosts as an archive, which does not contain the environment
// variables of its creation.
func TestAnArchiveRunsElsewhere(t *testing.T) {
	t.Parallel()
	s := serve(t)
	archive := filepath.Join(t.TempDir(), "archive.tar")
	command := exec.CommandContext(t.Context(), k6, "archive", "--exclude-env-vars", "-e", "RATE=10", "-e", "DURATION=1s", "-O", archive,
		filepath.Join(root, "scenarios", "k6", "multi-tenant.js"))
	command.Env = append(clean(os.Environ()), "PRONY_TOKEN=secret-of-the-maker")
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(archive)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "secret-of-the-maker")
	o := start(t, append(s.environment(), patient...), archive)()
	o.balanced(t)
}

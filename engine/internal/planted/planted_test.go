package planted_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// symbols builds the server and returns those of its symbols that are of this package.
func symbols(t *testing.T, flags ...string) (out []string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "queued")
	build := exec.Command("go", append(append([]string{"build", "-buildvcs=false"}, flags...), "-o", binary, "../../cmd/queued")...)
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	text, err = exec.Command("go", "tool", "nm", binary).Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "engine/internal/planted.") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// A release has nothing of the faults: neither code nor data.
func TestAReleaseHasNoFault(t *testing.T) {
	assert.Empty(t, symbols(t))
	assert.NotEmpty(t, symbols(t, "-tags", "planted"), "the test sees what it looks for")
}

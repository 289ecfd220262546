package planted_test

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/engine/longtest"
)

// symbols builds the server. It returns its symbols that belong to a fault, and the number of
// occurrences of the faults' variable names.
func symbols(t *testing.T, name string, flags ...string) (out []string, variables int) {
	t.Helper()
	binary, err := buildtest.Program(name, "engine/cmd/queued", flags...)
	require.NoError(t, err)
	text, err := exec.Command("go", "tool", "nm", binary).Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "planted") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	code, err := os.ReadFile(binary)
	require.NoError(t, err)
	return out, bytes.Count(code, []byte("PRONY_PLANTED"))
}

// A release has neither code nor data of the faults.
func TestAReleaseHasNoFault(t *testing.T) {
	longtest.Only(t)
	found, variables := symbols(t, "queued")
	assert.Empty(t, found)
	assert.Zero(t, variables)
	found, variables = symbols(t, "queued-planted", "-tags", "planted")
	for _, fault := range []string{"planted.Command", "planted.Wall", "plantedclient.Task", "shard.plantedDeliver"} {
		assert.True(t, slices.ContainsFunc(found, func(s string) bool { return strings.HasSuffix(s, fault) }), "the test finds %s: %v", fault, found)
	}
	assert.NotZero(t, variables, "the test finds the variables")
}

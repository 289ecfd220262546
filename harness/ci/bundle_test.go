package ci_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
)

// TestTheReadmesPythonProgramRuns needs Python and PyPI.
func TestTheReadmesPythonProgramRuns(t *testing.T) {
	longtest.Only(t)
	out, code := script(t, "proto-bundle-python", "", nil)
	require.Equal(t, 0, code, out)
	assert.Contains(t, out, "the program of engine/README.md enqueued, claimed and completed a task")
}

package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// A run may take an hour, so the command checks the link first.
func TestRunLooksAtTheLinkBeforeItMeasures(t *testing.T) {
	inFolder(t)
	write(t, "tiny.hcl", tiny("tiny", "60s", ""))
	pids := noting(t, "exit 1")
	require.NoError(t, os.MkdirAll("lo/latest", 0o700))
	got := prony(t, "run", "--out", "lo", "--json", "tiny.hcl")
	assert.Equal(t, 2, got.code)
	assert.Equal(t, result.Misconfigured, got.document(t).Verdict)
	assert.NoFileExists(t, pids, "no server was started")
	left, err := os.ReadDir("lo")
	require.NoError(t, err)
	assert.Len(t, left, 1)
}

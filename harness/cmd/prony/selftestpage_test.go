package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The published page follows from the data beside it.
func TestSelfTestPageIsRenderedAgain(t *testing.T) {
	const published = "../../../reports"
	want, err := os.ReadFile(filepath.Join(published, selfTestPage))
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(published, selfTestData))
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, selfTestData), data, 0o600))
	var stdout, stderr strings.Builder
	require.Zero(t, execute(t.Context(), []string{"prony", "gate", "selftest", "--render", dir}, &stdout, &stderr), "%s", &stderr)
	got, err := os.ReadFile(filepath.Join(dir, selfTestPage))
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))

	for text, problem := range map[string]string{"{": "corrupt", `{"version": 9}`: "it has version 9 and this program reads 1"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, selfTestData), []byte(text), 0o600))
		stderr.Reset()
		require.Equal(t, 2, execute(t.Context(), []string{"prony", "gate", "selftest", "--render", dir}, &stdout, &stderr))
		assert.Contains(t, stderr.String(), problem)
	}
}

package topology

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func executable(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755))
	return path
}

func TestFindServer(t *testing.T) {
	work, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(work)
	beside := filepath.Join(t.TempDir(), "tools")

	_, err = findServer("", beside)
	require.ErrorContains(t, err, "make build")
	require.ErrorContains(t, err, filepath.Join(beside, "queued"))
	require.ErrorContains(t, err, filepath.Join(work, "bin", "queued"))

	inWork := executable(t, filepath.Join(work, "bin", "queued"))
	found, err := findServer("", beside)
	require.NoError(t, err)
	assert.Equal(t, inWork, found)
	found, err = findServer("", "")
	require.NoError(t, err)
	assert.Equal(t, inWork, found)

	besideIt := executable(t, filepath.Join(beside, "queued"))
	found, err = findServer("", beside)
	require.NoError(t, err)
	assert.Equal(t, besideIt, found)

	named := executable(t, filepath.Join(work, "other"))
	found, err = findServer("other", beside)
	require.NoError(t, err)
	assert.Equal(t, named, found, "relative names are made absolute")
}

func TestFindServerDoesNotPassOverWhatIsNamed(t *testing.T) {
	beside := t.TempDir()
	executable(t, filepath.Join(beside, "queued"))
	_, err := findServer(filepath.Join(beside, "missing"), beside)
	require.ErrorContains(t, err, "PRONY_QUEUED")

	plain := filepath.Join(beside, "plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	for _, name := range []string{plain, beside} {
		_, err = findServer(name, beside)
		require.ErrorContains(t, err, "not an executable file")
	}
}

func TestFindServerReadsTheEnvironment(t *testing.T) {
	named := executable(t, filepath.Join(t.TempDir(), "queued"))
	t.Setenv("PRONY_QUEUED", named)
	found, err := FindServer()
	require.NoError(t, err)
	assert.Equal(t, named, found)
}

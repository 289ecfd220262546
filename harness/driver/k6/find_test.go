package k6

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	require.NoError(t, err)
	put := func(path string, mode os.FileMode) string {
		path = filepath.Join(here, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, mode))
		return path
	}
	_, err = find("", filepath.Join(here, "beside"))
	require.ErrorContains(t, err, "find k6: run `make k6` in the repository, or set PRONY_K6")
	_, err = find(put("named", 0o600), "")
	require.ErrorContains(t, err, "find k6: PRONY_K6: ")
	require.ErrorContains(t, err, "is not an executable file")

	below := put("bin/k6", 0o700)
	found, err := find("", filepath.Join(here, "beside"))
	require.NoError(t, err)
	assert.Equal(t, below, found)
	beside := put("beside/k6", 0o700)
	found, err = find("", filepath.Join(here, "beside"))
	require.NoError(t, err)
	assert.Equal(t, beside, found)
	named := put("other", 0o700)
	found, err = find(named, filepath.Join(here, "beside"))
	require.NoError(t, err)
	assert.Equal(t, named, found)
	t.Setenv(BinaryEnv, named)
	found, err = Find()
	require.NoError(t, err)
	assert.Equal(t, named, found)
}

package k6run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	work, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(work)
	t.Setenv(BinaryEnv, "")
	_, err = Find()
	require.ErrorContains(t, err, "find k6: there is no k6 in the folder of prony or in bin/: run `make k6` in the root of the repository, or set PRONY_K6 to the path of a k6 with Prony's extension\n")
	require.ErrorContains(t, err, filepath.Join(work, "bin", "k6"))

	named := filepath.Join(work, "other")
	require.NoError(t, os.WriteFile(named, nil, 0o700))
	t.Setenv(BinaryEnv, named)
	found, err := Find()
	require.NoError(t, err)
	assert.Equal(t, named, found)
}

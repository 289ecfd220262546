package topology

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFindServer(t *testing.T) {
	work, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(work)
	t.Setenv("PRONY_QUEUED", "")
	_, err = FindServer()
	require.ErrorContains(t, err, "find the server: there is no queued in the folder of prony or in bin/: run `make build` in the root of the repository, or set PRONY_QUEUED to the path of queued\n")
	require.ErrorContains(t, err, filepath.Join(work, "bin", "queued"))

	named := filepath.Join(work, "other")
	require.NoError(t, os.WriteFile(named, nil, 0o700))
	t.Setenv("PRONY_QUEUED", named)
	found, err := FindServer()
	require.NoError(t, err)
	assert.Equal(t, named, found)
}

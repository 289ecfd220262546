package result_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

func TestCheckLatest(t *testing.T) {
	out := t.TempDir()
	require.NoError(t, result.CheckLatest(filepath.Join(out, "none")))
	require.NoError(t, result.CheckLatest(out))
	link := filepath.Join(out, result.LatestLink)
	require.NoError(t, os.Symlink("gone", link))
	require.NoError(t, result.CheckLatest(out))
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Mkdir(link, 0o755))
	assert.EqualError(t, result.CheckLatest(out),
		link+" is not a symbolic link, but that name is needed for the link to the newest run: move it away, or choose another folder with --out")
}

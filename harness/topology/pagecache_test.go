package topology

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The kernel drops files of all folders below the given one, including pages that were dirty.
func TestFilesLeaveThePageCache(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "inner"), 0o700))
	const size = 1 << 20
	for _, name := range []string{"a", "inner/b", "empty"} {
		content := bytes.Repeat([]byte{7}, size)
		if name == "empty" {
			content = nil
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	f, err := os.Open(filepath.Join(folder, "a"))
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	cached, err := cachedBytes(int(f.Fd()), size)
	require.NoError(t, err)
	assert.EqualValues(t, size, cached, "the file was just written")

	var cold ColdCache
	require.NoError(t, cold.drop(folder))
	assert.EqualValues(t, 2*size, cold.Data)
	var fs unix.Statfs_t
	require.NoError(t, unix.Statfs(folder, &fs))
	if fs.Type == unix.TMPFS_MAGIC {
		assert.EqualValues(t, 2*size, cold.Left, "an in-memory file system keeps its files cached")
		return
	}
	assert.Less(t, cold.Left, int64(size/100))
	require.Error(t, cold.drop(filepath.Join(folder, "absent")))
}

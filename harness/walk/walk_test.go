package walk_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/walk"
)

func TestDir(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("real/in", 0o700))
	require.NoError(t, os.WriteFile("real/in/file", nil, 0o600))
	require.NoError(t, os.Symlink("..", "real/in/up"))
	require.NoError(t, os.Symlink("real", "link"))
	require.NoError(t, os.Symlink("link", "linked"))
	require.NoError(t, os.Symlink("real/in/file", "one"))
	for root, want := range map[string][]string{
		"real":   {"real", "real/in", "real/in/file", "real/in/up"},
		"link":   {"link", "link/in", "link/in/file", "link/in/up"},
		"link/":  {"link/", "link/in", "link/in/file", "link/in/up"},
		"linked": {"linked", "linked/in", "linked/in/file", "linked/in/up"},
		"one":    {"one"},
	} {
		var visited []string
		err := walk.Dir(root, func(path string, entry fs.DirEntry, err error) error {
			require.NoError(t, err)
			info, err := os.Stat(path)
			require.NoError(t, err)
			assert.Equal(t, info.IsDir(), entry.IsDir() || entry.Type() == fs.ModeSymlink, path)
			visited = append(visited, path)
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, want, visited, root)
	}
}

// The visit decides what an error at the root means, as with filepath.WalkDir.
func TestDirTellsOfARootThatIsNotThere(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent")
	visits := 0
	require.NoError(t, walk.Dir(absent, func(path string, entry fs.DirEntry, err error) error {
		visits++
		assert.Equal(t, absent, path)
		assert.Nil(t, entry)
		assert.ErrorIs(t, err, fs.ErrNotExist)
		return nil
	}))
	assert.Equal(t, 1, visits)
}

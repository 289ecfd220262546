package observe

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDiskUse(t *testing.T) {
	dir := t.TempDir()
	empty, err := DiskUse(dir)
	require.NoError(t, err)
	assert.Zero(t, empty, "folders do not count")

	write := func(name string, size int) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		file, err := os.Create(path)
		require.NoError(t, err)
		_, err = file.Write(bytes.Repeat([]byte{1}, size))
		require.NoError(t, err)
		require.NoError(t, file.Sync(), "blocks are allocated at the latest by a sync")
		require.NoError(t, file.Close())
	}
	write("shards/0000/a", 1<<20)
	write("b", 1)
	used, err := DiskUse(dir)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, used, uint64(1<<20))
	assert.Less(t, used, uint64(1<<20+1<<18), "in whole blocks")

	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	linked, err := DiskUse(link)
	require.NoError(t, err)
	assert.Equal(t, used, linked, "a link is followed")

	_, err = DiskUse(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A store creates and removes files during the count.
func TestDiskUseOfAFolderThatChanges(t *testing.T) {
	dir := t.TempDir()
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			path := filepath.Join(dir, strconv.Itoa(i%50))
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				stopped <- err
				return
			}
			if err := os.Remove(filepath.Join(dir, strconv.Itoa((i+25)%50))); err != nil && !os.IsNotExist(err) {
				stopped <- err
				return
			}
		}
	}()
	for range 200 {
		_, err := DiskUse(dir)
		require.NoError(t, err)
	}
	close(stop)
	require.NoError(t, <-stopped)
}

package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/storagetest"
	"github.com/pronybench/prony/engine/storage"
)

func TestBackup(t *testing.T) {
	data := t.TempDir()
	store, err := storage.Open(storage.ShardFolder(data, 0), storage.Options{Durability: storage.Sync})
	require.NoError(t, err)
	storagetest.PutTasks(t, store, 1, 10)
	checkpoint := func(shard int, dir string) error {
		assert.Zero(t, shard)
		return store.Checkpoint(dir)
	}
	m := Manifest{CreatedAtMs: 1_900_000_000_000, Version: "v1", Shards: 1}
	path, made, err := Make(t.Context(), data, "", m, checkpoint)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(data, "backups", "20300317T174640Z"), path)
	assert.Positive(t, made.Bytes())
	verified, err := Verify(t.Context(), path)
	require.NoError(t, err)
	assert.Equal(t, made, verified)
	storagetest.PutTasks(t, store, 11, 10) // not in the backup, which exists already
	require.NoError(t, store.Close())
	r, err := Restore(t.Context(), path, filepath.Join(t.TempDir(), "data"), nil)
	require.NoError(t, err)
	assert.EqualValues(t, 10, r.Holding.Tasks)

	_, _, err = Make(t.Context(), data, "20300317T174640Z", m, checkpoint)
	require.ErrorIs(t, err, ErrExists)
	_, err = Verify(t.Context(), path)
	require.NoError(t, err)
	for _, name := range []string{"a/b", "..", ".", "a.partial", " ", "ä", strings.Repeat("x", 65)} {
		_, _, err := Make(t.Context(), data, name, m, checkpoint)
		assert.ErrorAs(t, err, new(*NameError), name)
	}
}

// A failed or interrupted backup is not a backup, and does not prevent the next one.
func TestABackupIsThereWholeOrNotAtAll(t *testing.T) {
	data := t.TempDir()
	m := Manifest{Shards: 2}
	write := func(_ int, dir string) error {
		return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "x"), []byte("x"), 0o600))
	}
	full := errors.New("the disk is full")
	_, _, err := Make(t.Context(), data, "b", m, func(shard int, dir string) error {
		if shard == 1 {
			return errors.Join(write(shard, dir), full)
		}
		return write(shard, dir)
	})
	require.ErrorIs(t, err, full)
	entries, err := os.ReadDir(filepath.Join(data, Folder))
	require.NoError(t, err)
	assert.Empty(t, entries)

	ctx, cancel := context.WithCancel(t.Context())
	_, _, err = Make(ctx, data, "b", m, func(shard int, dir string) error {
		cancel()
		return write(shard, dir)
	})
	require.ErrorIs(t, err, context.Canceled)

	require.NoError(t, write(0, filepath.Join(data, Folder, "b"+partialSuffix)))
	path, _, err := Make(t.Context(), data, "b", m, write)
	require.NoError(t, err)
	made, err := Verify(t.Context(), path)
	require.NoError(t, err)
	assert.Len(t, made.Files, 2, "nothing of the interrupted backup remains")
}

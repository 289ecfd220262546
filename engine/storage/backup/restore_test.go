package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/storagetest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/fsck"
)

// newBackup creates a backup of two shards with data in tables and in the log.
func newBackup(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "backup")
	for shard := range 2 {
		store, err := storage.Open(t.TempDir(), storage.Options{Durability: storage.Sync})
		require.NoError(t, err)
		storagetest.PutTasks(t, store, 1, 50)
		require.NoError(t, store.Flush())
		storagetest.PutTasks(t, store, 51, 20)
		require.NoError(t, os.MkdirAll(filepath.Dir(storage.ShardFolder(dir, shard)), 0o700))
		require.NoError(t, store.Checkpoint(storage.ShardFolder(dir, shard)))
		require.NoError(t, store.Close())
	}
	_, err := writeManifest(t.Context(), dir, Manifest{CreatedAtMs: 1_700_000_000_000, Version: "v1", Shards: 2})
	require.NoError(t, err)
	return dir
}

func TestABackupIsRestored(t *testing.T) {
	backup := newBackup(t)
	before := storagetest.Files(t, backup)
	for name, data := range map[string]string{"new": filepath.Join(t.TempDir(), "data"), "empty": t.TempDir()} {
		r, err := Restore(t.Context(), backup, data, nil)
		require.NoError(t, err, name)
		assert.Equal(t, fsck.Holding{Queues: 2, Tasks: 140}, r.Holding)
		assert.Equal(t, 2, r.Manifest.Shards)
		assert.Equal(t, "v1", r.Manifest.Version)
		require.NoError(t, CheckDataFolder(data))
		shards, err := storage.ReadLayout(data)
		require.NoError(t, err)
		assert.Equal(t, 2, shards)
		for shard := range 2 {
			store, err := storage.Open(storage.ShardFolder(data, shard), storage.Options{Durability: storage.Sync})
			require.NoError(t, err)
			audited, err := store.Audit(1_000)
			require.NoError(t, err)
			require.Len(t, audited, 1)
			assert.EqualValues(t, 70, audited[0].Stored)
			require.NoError(t, store.Close())
		}
	}
	assert.Equal(t, before, storagetest.Files(t, backup), "the backup is unchanged")
}

// A restore detects any flipped byte of a backup, names the file and leaves nothing behind.
func TestAFlippedByteIsFoundAndNamed(t *testing.T) {
	backup := newBackup(t)
	files := storagetest.Files(t, backup)
	require.Greater(t, len(files), 8)
	for path, text := range files {
		if len(text) == 0 {
			continue
		}
		for _, at := range []int{0, len(text) / 2, len(text) - 1} {
			flipped := []byte(text)
			flipped[at] ^= 1
			require.NoError(t, os.WriteFile(path, flipped, 0o600))
			data := filepath.Join(t.TempDir(), "data")
			_, err := Restore(t.Context(), backup, data, nil)
			require.Error(t, err, "%s at %d", path, at)
			assert.Contains(t, err.Error(), path)
			assert.Contains(t, err.Error(), "is damaged")
			assert.NoDirExists(t, data)
			_, err = Verify(t.Context(), backup)
			assert.ErrorContains(t, err, path)
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	_, err := Verify(t.Context(), backup)
	require.NoError(t, err)
}

func TestAFlippedBitOfAManifestIsFound(t *testing.T) {
	text, err := Manifest{Format: 1, Shards: 1, Version: "v1", CreatedAtMs: 1, Files: []File{{Path: "shards/0000/x", Bytes: 1, SHA256: "00"}}}.encode()
	require.NoError(t, err)
	dir := t.TempDir()
	for at := range text {
		for bit := range 8 {
			flipped := bytes.Clone(text)
			flipped[at] ^= 1 << bit
			require.NoError(t, os.WriteFile(filepath.Join(dir, ManifestName), flipped, 0o600))
			_, err := readManifest(dir)
			require.Error(t, err, "byte %d, bit %d", at, bit)
		}
	}
}

func TestFilesThatAreMissingShortOrTooMany(t *testing.T) {
	backup := newBackup(t)
	m, err := readManifest(backup)
	require.NoError(t, err)
	full := slices.DeleteFunc(m.Files, func(f File) bool { return f.Bytes == 0 })
	gone := filepath.Join(backup, filepath.FromSlash(full[0].Path))
	short := filepath.Join(backup, filepath.FromSlash(full[1].Path))
	text, err := os.ReadFile(short)
	require.NoError(t, err)
	require.NoError(t, errors.Join(os.Remove(gone), os.WriteFile(short, text[:len(text)-1], 0o600), os.WriteFile(filepath.Join(backup, "extra"), nil, 0o600)))
	_, err = Verify(t.Context(), backup)
	require.Error(t, err)
	assert.Contains(t, err.Error(), gone+" is missing")
	assert.Contains(t, err.Error(), short+" is damaged: it has")
	assert.Contains(t, err.Error(), filepath.Join(backup, "extra")+" is in the backup's folder but is not part of the backup")
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(backup, "link")))
	_, err = Verify(t.Context(), backup)
	assert.ErrorContains(t, err, "link is no regular file")
}

func manifest(t *testing.T, m Manifest) string {
	t.Helper()
	text, err := m.encode()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ManifestName), text, 0o600))
	return dir
}

func TestManifestsThatAreRefused(t *testing.T) {
	file := func(path string) []File { return []File{{Path: path}} }
	for name, c := range map[string]struct {
		dir  string
		want string
	}{
		"none":              {t.TempDir(), "is no finished backup: it has no manifest.json"},
		"newer":             {manifest(t, Manifest{Format: 2, Shards: 1}), "has format 2, this program reads format 1: use a newer one"},
		"no format":         {manifest(t, Manifest{Shards: 1, Files: file("shards/0000/x")}), "is damaged: format 0"},
		"no shards":         {manifest(t, Manifest{Format: 1}), "is damaged: format 1 with 0 shards is no backup"},
		"too many shards":   {manifest(t, Manifest{Format: 1, Shards: 1 << 20}), "is no backup"},
		"shard without any": {manifest(t, Manifest{Format: 1, Shards: 2, Files: file("shards/0000/x")}), "shard 1 of 2 has no files"},
		"outside":           {manifest(t, Manifest{Format: 1, Shards: 1, Files: file("../x")}), `file "../x" is out of place`},
		"absolute":          {manifest(t, Manifest{Format: 1, Shards: 1, Files: file("/etc/passwd")}), `file "/etc/passwd" is out of place`},
		"twice":             {manifest(t, Manifest{Format: 1, Shards: 1, Files: append(file("shards/0000/x"), file("shards/0000/x")...)}), "is out of place"},
	} {
		_, err := readManifest(c.dir)
		require.ErrorContains(t, err, c.want, name)
		_, err = Restore(t.Context(), c.dir, filepath.Join(t.TempDir(), "data"), nil)
		assert.ErrorContains(t, err, c.want, name)
	}
	dir := t.TempDir()
	for _, text := range []string{"", "{", "[]", `{"format":1,"shards":1,"files":[],"sha256":"","more":1}`, strings.Repeat("[", 1000)} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, ManifestName), []byte(text), 0o600))
		_, err := readManifest(dir)
		assert.ErrorContains(t, err, "manifest.json is damaged", text)
	}
}

func TestAManifestOfNothingIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	_, err := writeManifest(t.Context(), dir, Manifest{Shards: 1})
	require.ErrorContains(t, err, "shard 0 of 1 has no files")
	assert.NoFileExists(t, filepath.Join(dir, ManifestName))
}

func TestFoldersThatARestoreRefuses(t *testing.T) {
	backup := newBackup(t)
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "mine"), nil, 0o600))
	for data, want := range map[string]string{
		full:                          "is not empty, it has mine",
		filepath.Join(backup, "data"): "is in the backup",
		backup:                        "is in the backup",
		filepath.Join(full, "mine"):   "check the data folder",
		filepath.Join(full, "a", "b"): "create the data folder",
	} {
		_, err := Restore(t.Context(), backup, data, nil)
		assert.ErrorContains(t, err, want, data)
	}
	assert.FileExists(t, filepath.Join(full, "mine"))
}

// After a restore was killed, servers reject the remaining folder, and the next restore starts
// over.
func TestAnInterruptedRestore(t *testing.T) {
	backup := newBackup(t)
	data := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(data, restoringFolder, storage.ShardsFolder, "0000"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(data, restoringFolder, storage.ShardsFolder, "0000", "000001.log"), []byte("half"), 0o600))
	require.ErrorContains(t, CheckDataFolder(data), "holds a restore that did not finish")
	_, err := Restore(t.Context(), backup, data, nil)
	require.NoError(t, err)
	require.NoError(t, CheckDataFolder(data))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	data = filepath.Join(t.TempDir(), "data")
	_, err = Restore(ctx, backup, data, nil)
	require.ErrorIs(t, err, context.Canceled)
	assert.NoDirExists(t, data)

	assert.ErrorContains(t, CheckDataFolder(backup), "is a backup")
	assert.NoError(t, CheckDataFolder(filepath.Join(t.TempDir(), "new")))
}

// A store with wrong counters is not restored, even if every file matches the manifest.
func TestCountersThatDoNotAgree(t *testing.T) {
	store, err := storage.Open(t.TempDir(), storage.Options{Durability: storage.Sync})
	require.NoError(t, err)
	storagetest.PutTasks(t, store, 1, 3)
	b := store.NewBatch()
	b.PutTask(queue.Ref{Queue: 1, Seq: 9}, queue.Task{EnqueuedAtMs: 1})
	storagetest.Commit(t, b)
	dir := filepath.Join(t.TempDir(), "backup")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, storage.ShardsFolder), 0o700))
	require.NoError(t, store.Checkpoint(storage.ShardFolder(dir, 0)))
	require.NoError(t, store.Close())
	_, err = writeManifest(t.Context(), dir, Manifest{Shards: 1})
	require.NoError(t, err)
	data := filepath.Join(t.TempDir(), "data")
	_, err = Restore(t.Context(), dir, data, nil)
	assert.ErrorContains(t, err, "queue mail of tenant t counts 3 tasks (3 ready, 0 delayed, 0 leased, 0 dead), but has 4")
	assert.NoDirExists(t, data)
}

func FuzzManifest(f *testing.F) {
	text, err := Manifest{Format: 1, Shards: 1, Files: []File{{Path: "shards/0000/x", Bytes: 1, SHA256: "00"}}}.encode()
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, ManifestName), text, 0o600))
		m, err := readManifest(dir)
		if err != nil {
			return
		}
		again, err := m.encode()
		require.NoError(t, err)
		assert.Equal(t, string(text), string(again), "every accepted manifest equals its encoding")
		require.True(t, json.Valid(text))
	})
}

// The path of a backup may be a link to its folder.
func TestABackupIsRestoredThroughALink(t *testing.T) {
	backup := newBackup(t)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(backup, link))
	_, err := Verify(t.Context(), link)
	require.NoError(t, err)
	r, err := Restore(t.Context(), link, filepath.Join(t.TempDir(), "data"), nil)
	require.NoError(t, err)
	assert.EqualValues(t, 140, r.Holding.Tasks)

	// A link does not hide that the data folder would be inside the backup.
	for _, data := range []string{filepath.Join(backup, "data"), filepath.Join(link, "data"), link} {
		_, err = Restore(t.Context(), link, data, nil)
		require.ErrorContains(t, err, "is in the backup: choose one outside of it", data)
		_, err = Restore(t.Context(), backup, data, nil)
		require.ErrorContains(t, err, "is in the backup: choose one outside of it", data)
	}
	_, err = Verify(t.Context(), backup)
	require.NoError(t, err)
}

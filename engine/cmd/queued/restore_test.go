package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/backup"
)

// backedUp serves a data folder, enqueues two tasks, stops, and makes a backup of it.
func backedUp(t *testing.T) (data, path string) {
	t.Helper()
	data = t.TempDir()
	n, err := node.Open(node.Config{DataDir: data, Listen: []string{"127.0.0.1:0"}, Durability: storage.Sync})
	require.NoError(t, err)
	s := newShell(t, "QUEUED_SERVER="+n.Addresses()[0])
	s.ok("enqueue", "--queue", "mail", "first")
	s.ok("enqueue", "--queue", "mail", "second")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, n.Shutdown(ctx))

	store, err := storage.Open(storage.ShardFolder(data, 0), storage.Options{Durability: storage.Sync})
	require.NoError(t, err)
	path, _, err = backup.Make(t.Context(), t.TempDir(), "b", backup.Manifest{CreatedAtMs: someTime, Version: "v1", Shards: 1}, func(_ int, dir string) error {
		return store.Checkpoint(dir)
	})
	require.NoError(t, errors.Join(err, store.Close()))
	return data, path
}

// Tasks enqueued before the backup can be claimed from the restored data folder.
func TestRestoreMakesADataFolderThatServes(t *testing.T) {
	_, backup := backedUp(t)
	s := newShell(t)
	data := filepath.Join(t.TempDir(), "data")
	table := s.ok("restore", "--from", backup, "--data", data)
	assertRow(t, table, "backup of", "2030-03-17T17:46:40.000Z")
	assertRow(t, table, "tasks", "2")
	p := start(t, "--data", data)
	s.env = []string{"QUEUED_SERVER=" + p.Listen[0], "QUEUED_DATA=" + data}
	var c claimed
	s.json(&c, "claim", "--queue", "mail", "--max", "10")
	require.Len(t, c.Tasks, 2)
	assert.Equal(t, "first", c.payload(t, 0))
	assert.Equal(t, "second", c.payload(t, 1))

	other := filepath.Join(t.TempDir(), "other")
	var out struct {
		Tasks, Queues, Shards, Files int
		CreatedAtMs                  int64 `json:"created_at_ms"`
	}
	s.json(&out, "restore", "--from", backup, "--data", other)
	assert.Equal(t, 2, out.Tasks)
	assert.Equal(t, 1, out.Queues)
	assert.Positive(t, out.Files)
	assert.EqualValues(t, someTime, out.CreatedAtMs)
	s.run("restore", "--from", backup, "--data", other).fails(exitFailed, "is not empty")
}

func TestADamagedBackupIsNotRestored(t *testing.T) {
	_, backup := backedUp(t)
	logs, err := filepath.Glob(filepath.Join(backup, "shards", "0000", "*.log"))
	require.NoError(t, err)
	require.NotEmpty(t, logs)
	text, err := os.ReadFile(logs[0])
	require.NoError(t, err)
	text[len(text)/2] ^= 0x10
	require.NoError(t, os.WriteFile(logs[0], text, 0o600))
	data := filepath.Join(t.TempDir(), "data")
	newShell(t).run("restore", "--from", backup, "--data", data).fails(exitFailed, logs[0]+" is damaged")
	assert.NoDirExists(t, data)
}

// A server refuses a backup and an interrupted restore as data folders.
func TestServeRefusesWhatIsNoDataFolder(t *testing.T) {
	_, backup := backedUp(t)
	unfinished := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(unfinished, "restoring"), 0o700))
	for dir, want := range map[string]string{backup: "is a backup: restore it to a data folder with 'queued restore'", unfinished: "holds a restore that did not finish"} {
		code, _, stderr := run(t, "serve", "--listen", "127.0.0.1:0", "--http", "", "--admin", "", "--data", dir)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, stderr, want)
	}
	assert.False(t, strings.Contains(strings.Join(files(t, unfinished), " "), "shards"), "nothing was created")
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

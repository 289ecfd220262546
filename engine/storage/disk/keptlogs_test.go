package disk

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func logPath(n int) string { return fmt.Sprintf("store/%06d.log", n) }

// beginLog acts like Pebble when it begins a log: it reuses a log that it no longer needs, or
// creates a new one.
func beginLog(t *testing.T, k *KeptLogs, reuse, n int) {
	t.Helper()
	var f vfs.File
	var err error
	if reuse > 0 {
		f, err = k.ReuseForWrite(logPath(reuse), logPath(n), vfs.WriteCategoryUnspecified)
	} else {
		f, err = k.Create(logPath(n), vfs.WriteCategoryUnspecified)
	}
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func logsIn(t *testing.T, fs vfs.FS) []string {
	t.Helper()
	names, err := fs.List("store")
	require.NoError(t, err)
	return names
}

func TestALogIsKeptUntilTheNextOneAfterItsCommitsAreStored(t *testing.T) {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("store", 0o755))
	k := keepLogs(fs, "store", func(string) bool { return true }, true)
	beginLog(t, k, 0, 1)
	k.Committing(5)
	beginLog(t, k, 0, 2)
	require.EqualValues(t, 5, k.Cut())
	require.NoError(t, k.Remove(logPath(1)))
	assert.Contains(t, logsIn(t, fs), "000001.log", "commit 5 is not stored")
	k.Committing(9)
	k.Stored(4)
	beginLog(t, k, 0, 3)
	assert.Contains(t, logsIn(t, fs), "000001.log", "commit 5 is not stored")
	k.Stored(5)
	assert.Contains(t, logsIn(t, fs), "000001.log", "log 3, which states that commit 5 is stored, is not on the disk")
	require.NoError(t, k.Remove(logPath(2)))
	beginLog(t, k, 2, 4) // log 1 is no longer needed and becomes log 4
	assert.ElementsMatch(t, []string{"000002.log", "000003.log", "000004.log"}, logsIn(t, fs))
	k.Stored(9)
	beginLog(t, k, 0, 5)
	require.NoError(t, k.Remove(logPath(3)))
	require.NoError(t, k.Finish())
	assert.ElementsMatch(t, []string{"000004.log", "000005.log"}, logsIn(t, fs))
}

func TestALogThatPebbleNeedsIsItsOwnToRemove(t *testing.T) {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("store", 0o755))
	k := keepLogs(fs, "store", func(string) bool { return true }, true)
	beginLog(t, k, 0, 1)
	k.Committing(1)
	k.Stored(1)
	beginLog(t, k, 0, 2)
	require.NoError(t, k.Finish())
	assert.Contains(t, logsIn(t, fs), "000001.log")
	require.NoError(t, k.Remove(logPath(1)))
	assert.NotContains(t, logsIn(t, fs), "000001.log")
}

// A log is retained until the log that states its replacement is on the disk, even if Pebble began
// further logs long ago.
func TestALogIsKeptUntilWhatReplacesItIsOnTheDisk(t *testing.T) {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("store", 0o755))
	whole := map[string]bool{logPath(1): true}
	k := keepLogs(fs, "store", func(path string) bool { return whole[path] }, false)
	beginLog(t, k, 0, 1)
	k.Committing(5)
	beginLog(t, k, 0, 2)
	k.Stored(5)
	require.NoError(t, k.Remove(logPath(1)))
	for n := 3; n < 6; n++ {
		beginLog(t, k, 0, n)
		assert.Contains(t, logsIn(t, fs), "000001.log", "log 2 is not on the disk")
	}
	assert.Equal(t, 1, k.Kept())
	whole[logPath(2)] = true
	beginLog(t, k, 0, 6)
	assert.NotContains(t, logsIn(t, fs), "000001.log")
	assert.Zero(t, k.Kept())
}

// noRemoval is a file system that fails removals while fails is set.
type noRemoval struct {
	vfs.FS
	fails atomic.Bool
}

func (fs *noRemoval) Remove(path string) error {
	if fs.fails.Load() {
		return errorfs.ErrInjected
	}
	return fs.FS.Remove(path)
}

// A log that cannot be removed blocks no commit and is removed later.
func TestALogThatCannotBeRemovedIsRemovedLater(t *testing.T) {
	fs := &noRemoval{FS: vfs.NewMem()}
	fs.fails.Store(true)
	require.NoError(t, fs.MkdirAll("store", 0o755))
	k := keepLogs(fs, "store", func(string) bool { return true }, false)
	beginLog(t, k, 0, 1)
	k.Committing(5)
	beginLog(t, k, 0, 2)
	k.Stored(5)
	require.NoError(t, k.Remove(logPath(1)))
	beginLog(t, k, 0, 3)
	require.Contains(t, logsIn(t, fs), "000001.log")
	fs.fails.Store(false)
	beginLog(t, k, 0, 4)
	require.NotContains(t, logsIn(t, fs), "000001.log")
}

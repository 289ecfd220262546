package logs

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/waittest"
)

const (
	waitMost = waittest.Most
	waitStep = 5 * time.Millisecond
)

// bytesIn returns the size of the tables and logs in the store's folder.
func bytesIn(t *testing.T, fs vfs.FS) (n int64) {
	names, err := fs.List(dir)
	require.NoError(t, err)
	for _, name := range names {
		// Otherwise it was removed concurrently.
		if info, err := fs.Stat(fs.PathJoin(dir, name)); err == nil {
			n += info.Size()
		}
	}
	return n
}

// Truncation frees the space of entries, also in tables, and also if nothing is written afterwards.
// Pebble keeps a few of its logs for reuse.
func TestTruncatedLogsGiveTheirSpaceBack(t *testing.T) {
	const memTable, size, n = 256 << 10, 16 << 10, 1600
	fs := vfs.NewMem()
	s := open(t, fs, Options{MemTableBytes: memTable, flushDelay: time.Millisecond})
	defer closeStore(t, s)
	g := s.Group(1)
	for i := uint64(1); i <= n; i += 4 {
		require.NoError(t, g.StoreLogs(entries(i, i+3, 1, size)))
	}
	require.Greater(t, bytesIn(t, fs), int64(n*size))
	require.NoError(t, g.DeleteRange(1, n-10))
	require.Eventually(t, func() bool { return bytesIn(t, fs) < 16*memTable }, waitMost, waitStep, "of %d bytes", n*size)
	requireEntries(t, g, entries(n-9, n, 1, size)...)
}

// Entries that are truncated while in a memtable are written only once, to Pebble's log.
func TestLogsTruncatedInMemoryAreNotWrittenAgain(t *testing.T) {
	const memTable, size, kept = 4 << 20, 16 << 10, 16
	s := open(t, vfs.NewMem(), Options{MemTableBytes: memTable})
	defer closeStore(t, s)
	g := s.Group(1)
	const n = 2048 // 32 MiB
	for i := uint64(1); i <= n; i++ {
		require.NoError(t, g.StoreLogs(entries(i, i, 1, size)))
		if i%64 == 0 { // 1 MiB
			require.NoError(t, g.DeleteRange(1, i-kept))
		}
	}
	require.NoError(t, s.db.Flush())
	m := s.db.Metrics()
	require.Less(t, m.Levels[0].TableBytesFlushed, uint64(n*size/3))
	requireBounds(t, g, n-kept+1, n)
}

// Opening a log after many truncations takes only a few seeks: it does not iterate over tombstones.
func TestBoundsAreFoundBehindTombstones(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{MemTableBytes: 256 << 10})
	g := s.Group(1)
	for i := uint64(1); i <= 5000; i += 10 {
		require.NoError(t, g.StoreLogs(entries(i, i+9, 1, 200)))
		require.NoError(t, g.DeleteRange(i, i+8))
		require.NoError(t, g.DeleteRange(i+9, i+9))
	}
	require.NoError(t, g.StoreLogs(entries(5001, 5003, 1, 200)))
	closeStore(t, s)
	s = open(t, fs, Options{})
	requireBounds(t, s.Group(1), 5001, 5003)
	closeStore(t, s)
}

package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestReadsSayWhatWasWritten writes random mutations in commits and reads everything back through
// every read method: after flushes and compactions, which merge sets with their deletes, after the
// store was reopened, and from a checkpoint.
func TestReadsSayWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewMem()
		reopen := func(dir string) *Store {
			s, err := Open(dir, Options{
				FS: fs, Durability: Sync, MemTableBytes: 1 << 20, Fatal: func(problem string) { panic(problem) },
				YoungLogBytes: rapid.Int64Range(1<<10, 4<<10).Draw(t, "bytes of a log"), YoungBytes: rapid.Int64Range(1<<10, 16<<10).Draw(t, "young bytes"),
			})
			require.NoError(t, err)
			return s
		}
		s := reopen("shard")
		defer func() { require.NoError(t, s.Close()) }()
		c := newContents()
		for range rapid.IntRange(1, 5).Draw(t, "rounds") {
			for range rapid.IntRange(1, 4).Draw(t, "commits") {
				b := s.NewBatch()
				for range rapid.IntRange(1, 40).Draw(t, "mutations") {
					c.mutate(t, b)
				}
				commit, err := b.Submit()
				require.NoError(t, err)
				require.NoError(t, commit.Wait())
			}
			switch rapid.SampledFrom([]string{"", "flush", "compact", "reopen", "checkpoint"}).Draw(t, "then") {
			case "flush":
				require.NoError(t, s.db.Flush())
			case "compact":
				require.NoError(t, s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false))
			case "reopen":
				require.NoError(t, s.Close())
				s = reopen("shard")
			case "checkpoint":
				require.NoError(t, fs.RemoveAll("copy"))
				require.NoError(t, s.Checkpoint("copy"))
				require.Error(t, s.Checkpoint("copy"), "the folder must not exist")
				copied := reopen("copy")
				c.compare(t, copied)
				require.NoError(t, copied.Close())
			}
			c.compare(t, s)
		}
	})
}

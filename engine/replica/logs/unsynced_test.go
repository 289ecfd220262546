package logs

import (
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/unsynced"
	"github.com/pronybench/prony/engine/storage"
)

// A power loss never removes more entries of a group than the group's window reported. This also
// holds while Pebble starts new logs and one group has all of its entries synced. Under sync no
// entry is lost.
func TestALossOfPowerTakesNoMoreEntriesThanTheWindowsSay(t *testing.T) {
	for _, d := range []storage.Durability{storage.Sync, storage.Interval, storage.None} {
		t.Run(string(d), func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			windows := unsynced.Windows{unsynced.New(nil), unsynced.New(nil)}
			s := open(t, mem, Options{Durability: d, MemTableBytes: 64 << 10, Unsynced: windows})
			rng := rand.New(rand.NewPCG(1, 13))
			var acked [2]uint64
			lost, cuts := uint64(0), 0
			for range 120 {
				n := rng.IntN(len(windows))
				count := 1 + rng.Uint64N(4)
				require.NoError(t, s.Group(uint16(n)).StoreLogs(entries(acked[n]+1, acked[n]+count, 1, 3_000)))
				acked[n] += count
				windows[n].Acknowledged(int(count))
				if rng.IntN(15) == 0 {
					require.NoError(t, s.Persist())
					assert.Zero(t, windows[0].Loss().Tasks+windows[1].Loss().Tasks)
				}
				if rng.IntN(3) > 0 {
					continue
				}
				// Read before the copy: a later fsync does not reduce the loss.
				said := [2]uint64{windows[0].Loss().Tasks, windows[1].Loss().Tasks}
				after := open(t, mem.CrashClone(vfs.CrashCloneCfg{}), Options{})
				for n := range windows {
					last, err := after.Group(uint16(n)).LastIndex()
					require.NoError(t, err)
					require.LessOrEqual(t, acked[n]-last, said[n], "group %d", n)
					lost += acked[n] - last
				}
				require.NoError(t, after.Close())
				cuts++
			}
			t.Logf("%d power losses removed %d entries", cuts, lost)
			assert.Equal(t, d != storage.Sync, lost > 0)
			require.NoError(t, s.Close())
		})
	}
}

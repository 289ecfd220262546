package disk

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	pebblelog "github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func bytesOf(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	require.NoError(t, err)
	all, err := io.ReadAll(f)
	require.NoError(t, errors.Join(err, f.Close()))
	return all
}

// processKill returns the content that the operating system has after the process is killed now:
// all writes.
func processKill(fs *vfs.MemFS) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
}

func damaged(t *testing.T, fs *vfs.MemFS, name string, bit int) vfs.FS {
	t.Helper()
	copied := processKill(fs)
	all := bytesOf(t, copied, name)
	all[bit/8] ^= 1 << (bit % 8)
	f, err := copied.Create(name, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(all)
	require.NoError(t, errors.Join(err, f.Sync(), f.Close()))
	return copied
}

// Damage before the end of a manifest is detected even if the store was not closed cleanly. A crash
// may cut off the last record: the store then opens without it.
func TestDamagedManifestIsFoundAfterACrash(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Sync, 0)
	for range 3 {
		s.set(t)
		require.NoError(t, s.db.Flush())
	}
	crashed := processKill(fs)
	s.close(t)
	name, err := atomicfs.ReadMarker(crashed, "store", "manifest")
	require.NoError(t, err)
	path := "store/" + name
	all := bytesOf(t, crashed, path)
	var records []int // their offsets
	for at := 0; at < len(all); {
		_, end, ok := chunk(all, at)
		require.True(t, ok)
		records = append(records, at)
		at = end
	}
	require.Greater(t, len(records), 3)
	last := records[len(records)-1]
	for at := range all {
		if err := BreakSeal(damaged(t, crashed, path, at*8+at%8), "store", false); at < last {
			require.ErrorContains(t, err, path+" is damaged: the content is wrong from byte", "byte %d", at)
		}
	}
	for cut := last; cut <= len(all); cut++ {
		_, damaged := damagedRecord(all[:cut])
		require.False(t, damaged)
	}
	require.NoError(t, BreakSeal(crashed, "store", false))
}

// Blocks of the manifest are not always full: the unused end of a block does not count as damage.
func TestRecordsOfManyBlocksAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		w := pebblelog.NewWriter(&b)
		var begins []int
		for range rapid.IntRange(1, 8).Draw(t, "records") {
			begins = append(begins, b.Len())
			size := rapid.SampledFrom([]int{1, 100, logBlock - 20, logBlock - logHeader, logBlock, 3 * logBlock}).Draw(t, "bytes")
			_, err := w.WriteRecord(make([]byte, size+rapid.IntRange(0, 12).Draw(t, "more")))
			require.NoError(t, err)
			require.NoError(t, w.Flush())
		}
		require.NoError(t, w.Close())
		all := b.Bytes()
		_, damaged := damagedRecord(all)
		require.False(t, damaged)
		if len(begins) == 1 {
			return
		}
		at := rapid.IntRange(0, begins[len(begins)-1]-1).Draw(t, "damaged byte")
		all[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		where, damaged := damagedRecord(all)
		if damaged { // otherwise the byte has no meaning, as in the unused end of a block
			require.LessOrEqual(t, where, at)
			return
		}
		require.Zero(t, all[at]&(all[at]-1), "byte %d was zero", at)
	})
}

package logs

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/storage"
)

// Bits of the newest log of a killed process are flipped. Either everything acknowledged is
// recovered, or the error names the file and the remedy.
func TestDamagedLogIsRefusedAfterAKill(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s, err := Open("raft", Options{FS: fs, Durability: storage.Sync})
	require.NoError(t, err)
	const entries = 60
	for i := uint64(1); i <= entries; i++ {
		require.NoError(t, s.Group(0).StoreLogs([]*raft.Log{{Index: i, Term: 1, Data: make([]byte, 900)}}))
	}
	clone := func(fs *vfs.MemFS) *vfs.MemFS {
		return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	}
	killed := clone(fs)
	require.NoError(t, s.Close())
	names, err := killed.List("raft")
	require.NoError(t, err)
	newest := ""
	for _, n := range names {
		if strings.HasSuffix(n, ".log") {
			newest = max(newest, n)
		}
	}
	path := "raft/" + newest
	f, err := killed.Open(path)
	require.NoError(t, err)
	all, err := io.ReadAll(f)
	require.NoError(t, errors.Join(err, f.Close()))
	require.Greater(t, len(all), entries*900)
	found := 0
	for at := 0; at < len(all); at += 311 {
		flipped := clone(killed)
		text := append([]byte(nil), all...)
		text[at] ^= 1 << (at % 8)
		w, err := flipped.Create(path, vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		_, err = w.Write(text)
		require.NoError(t, errors.Join(err, w.Sync(), w.Close()))
		_, err = Open("raft", Options{FS: flipped, Durability: storage.Sync})
		require.ErrorContains(t, err, newest, "byte %d", at)
		require.ErrorContains(t, err, "join again with an empty data folder")
		found++
	}
	require.Greater(t, found, 100)
}

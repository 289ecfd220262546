package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/quotafstest"
)

func newestLog(t *testing.T, fs vfs.FS) (name string) {
	t.Helper()
	names, err := fs.List("store")
	require.NoError(t, err)
	for _, n := range names {
		if strings.HasSuffix(n, walSuffix) {
			name = max(name, n)
		}
	}
	require.NotEmpty(t, name)
	return "store/" + name
}

// TestDamagedLogIsFoundAfterAKill flips bits in the newest log of a killed process. In the fsynced
// part each flip is an error that names the log, and no commit is dropped silently. After that
// part, commits may be dropped, but none before the damage.
func TestDamagedLogIsFoundAfterAKill(t *testing.T) {
	for _, d := range []Durability{Sync, Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			s := open(t, fs, d, never)
			var synced int  // commits
			for range 700 { // more than two blocks
				s.set(t)
				if s.n == 500 {
					require.NoError(t, s.files.SyncLog())
					synced = s.n
				}
			}
			if d == Sync {
				synced = s.n
			}
			killed := processKill(fs)
			s.close(t)
			require.NoError(t, BreakSeal(killed, "store", true))
			require.Equal(t, s.n, present(t, killed.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})))

			log := newestLog(t, killed)
			size := len(bytesOf(t, killed, log))
			require.Greater(t, size, 2*logBlock)
			found := 0
			for at := 0; at < size; at += 97 {
				one := damaged(t, killed, log, at*8+at%8)
				err := BreakSeal(one, "store", false)
				if err == nil {
					require.GreaterOrEqual(t, present(t, one), synced, "byte %d: fsynced commits were dropped", at)
					continue
				}
				found++
				require.ErrorContains(t, err, log)
				require.ErrorContains(t, err, "restore a backup")
			}
			require.GreaterOrEqual(t, found, size/97*synced/s.n-2)
			if d == Sync {
				require.GreaterOrEqual(t, found, size/97)
			}
			t.Logf("%d of %d flips were found, %d of %d commits were fsynced", found, size/97+1, synced, s.n)
		})
	}
}

// TestCutLogIsFound truncates the log of a killed process to less than its fsynced length.
func TestCutLogIsFound(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Sync, 0)
	for range 10 {
		s.set(t)
	}
	killed := processKill(fs)
	s.close(t)
	log := newestLog(t, killed)
	all := bytesOf(t, killed, log)
	f, err := killed.Create(log, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(all[:len(all)-1])
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.ErrorContains(t, BreakSeal(killed, "store", false), log)
}

// TestNoteOfTheLogStaysTrue loses power at any time, also after checkpoints, whose logs have the
// same numbers and the old content of reused files. The note never exceeds the log, and a lost or
// empty note is not an error.
func TestNoteOfTheLogStaysTrue(t *testing.T) {
	for _, d := range []Durability{Sync, None} {
		for seed := range uint64(60) {
			fs := vfs.NewCrashableMem()
			s := open(t, fs, d, never)
			rng := rand.New(rand.NewPCG(seed, 1))
			for i := range 40 {
				s.set(t)
				switch rng.IntN(12) {
				case 0:
					require.NoError(t, s.db.Flush()) // a new log
				case 1:
					require.NoError(t, s.files.SyncLog())
				case 2:
					require.NoError(t, s.db.Checkpoint(fmt.Sprintf("store-copy%d", i), pebble.WithFlushedWAL()))
				}
				if rng.IntN(4) == 0 {
					cut := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
					require.NoError(t, BreakSeal(cut, "store", false), "seed %d", seed)
					present(t, cut)
				}
			}
			s.close(t)
		}
	}
}

// A file in another folder does not belong to the store, whatever its name. Its fsyncs change no
// note, and its failures do not end the process.
func TestFilesOfOtherFoldersAreNotTheStores(t *testing.T) {
	full := quotafstest.New(vfs.NewMem(), 1<<20)
	files, err := Guard(full, "store/", Sync, 0, NewLog(nil, func(problem string) { t.Error(problem) }))
	require.NoError(t, err)
	fill := func(name string, bytes int) error {
		require.NoError(t, full.MkdirAll(full.PathDir(name), 0o755))
		f, err := files.Create(name, vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		_, err = f.Write(make([]byte, bytes))
		return errors.Join(err, f.Sync(), f.Close())
	}
	for _, name := range []string{"store/000002.log", "store/MANIFEST-000001"} {
		require.NoError(t, fill(name, 10))
	}
	for _, dir := range []string{"copy", "store-copy", "store/copy"} {
		for _, name := range []string{"000002.log", "000003.log", "MANIFEST-000001", "MANIFEST-000009"} {
			require.NoError(t, fill(dir+"/"+name, 1000))
		}
	}
	require.Equal(t, SyncedFile{2, 10}, files.SyncedLog())
	require.Equal(t, SyncedFile{1, 10}, files.failStop.synced.current(syncedManifest))
	full.LeaveFree(0)
	require.Error(t, fill("store-copy/000004.log", 1000))
}

// TestDamagedNoteIsNamed flips each bit of the notes: of a single note, which leaves the older one,
// and of both notes of a file, which leaves none.
func TestDamagedNoteIsNamed(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Sync, 0)
	for range 3 {
		s.set(t)
	}
	require.NoError(t, s.db.Flush()) // more than one note of the manifest
	s.set(t)
	killed := processKill(fs)
	s.close(t)
	note := path.Join("store", syncedName)
	whole := bytesOf(t, killed, note)
	require.Len(t, whole, syncedBytes*int(syncedKinds)*syncedSlots)
	for kind := range syncedKinds {
		for bit := range 8 * syncedBytes {
			first, second := 8*syncedOffset(kind, 0)+bit, 8*syncedOffset(kind, 1)+bit
			for _, one := range []int{first, second} {
				require.NoError(t, BreakSeal(damaged(t, killed, note, one), "store", false))
			}
			both := damaged(t, killed, note, first).(*vfs.MemFS)
			require.ErrorContains(t, BreakSeal(damaged(t, both, note, second), "store", false), note)
		}
	}
	require.NoError(t, killed.Remove(note))
	require.NoError(t, BreakSeal(killed, "store", false))
}

func FuzzWholeChunks(f *testing.F) {
	fs := vfs.NewMem()
	s := open(f, fs, Sync, 0)
	for range 3 {
		s.set(f)
	}
	names, err := fs.List("store")
	require.NoError(f, err)
	for _, n := range names {
		if strings.HasSuffix(n, walSuffix) {
			text, err := readFile(fs, "store/"+n)
			require.NoError(f, err)
			f.Add([]byte(text), binary.LittleEndian.Uint32([]byte(text)[logHeader:]))
		}
	}
	s.close(f)
	f.Fuzz(func(t *testing.T, b []byte, log uint32) {
		b = b[:min(len(b), logBlock)]
		at, _ := wholeChunks(b, log)
		require.True(t, at <= len(b) || at == logBlock)
	})
}

// TestTheNoteOfAMissingLogIsForgotten removes a log but not its note. Pebble then begins a log with
// the same number, and a kill before its first fsync must not look like damage.
func TestTheNoteOfAMissingLogIsForgotten(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, None, never)
	s.set(t)
	require.NoError(t, s.files.SyncLog())
	killed := processKill(fs)
	s.close(t)
	log := newestLog(t, killed)
	require.NoError(t, killed.Remove(log))
	require.NoError(t, BreakSeal(killed, "store", false))
	files, err := Guard(killed, "store", None, never, NewLog(nil, nil))
	require.NoError(t, err)
	lock, err := files.Lock("store/LOCK")
	require.NoError(t, err)
	f, err := killed.Create(log, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, BreakSeal(killed, "store", false))
	require.NoError(t, lock.Close())
	require.NoError(t, files.Close())
}

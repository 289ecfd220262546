package disk

import (
	"fmt"
	"math/rand/v2"
	"path"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const syncedPath = "store/" + syncedName

func put(t require.TestingT, fs vfs.FS, name string, text []byte) {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(text)
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
}

// TestATornNoteLeavesTheOlderOne tears writes of notes at every byte, in both directions: single
// writes, and writes of a sector with several notes. A read then returns an earlier note; after a
// single write, the last or the previous one.
func TestATornNoteLeavesTheOlderOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewMem()
		require.NoError(t, fs.MkdirAll("store", 0o700))
		n := &syncedNote{fs: fs, path: syncedPath}
		images, notes := [][]byte{nil}, [][syncedKinds]SyncedFile{{}}
		for range rapid.IntRange(1, 6).Draw(t, "notes") {
			kind := syncedKind(rapid.IntRange(0, int(syncedKinds)-1).Draw(t, "kind"))
			at := notes[len(notes)-1]
			at[kind].length += rapid.Int64Range(1, 1<<40).Draw(t, "length")
			if at[kind].number == 0 || rapid.Bool().Draw(t, "new file") {
				at[kind].number += rapid.Uint64Range(1, 1<<40).Draw(t, "number")
				at[kind].length = rapid.Int64Range(1, 1<<40).Draw(t, "first length")
			}
			if rapid.Bool().Draw(t, "restart") { // reopen the file
				require.NoError(t, n.close())
				n = &syncedNote{fs: fs, path: syncedPath}
			}
			require.NoError(t, n.note(kind, at[kind].number, at[kind].length))
			text, err := readFile(fs, syncedPath)
			require.NoError(t, err)
			images, notes = append(images, []byte(text)), append(notes, at)
		}
		require.NoError(t, n.close())
		size := len(images[len(images)-1])
		full := func(i int) []byte {
			return append(append([]byte{}, images[i]...), make([]byte, size-len(images[i]))...)
		}
		for to := range images {
			for from := max(0, to-3); from <= to; from++ {
				for cut := 0; cut <= size; cut++ {
					for _, torn := range [][]byte{
						append(full(to)[:cut:cut], full(from)[cut:]...),
						append(full(from)[:cut:cut], full(to)[cut:]...),
					} {
						for kind := range syncedKinds {
							got, err := parseSynced(syncedPath, torn, kind)
							require.NoError(t, err, "notes %d to %d, cut at %d", from, to, cut)
							known := false
							for i := oldest(images, from, to, kind); i <= to; i++ {
								known = known || notes[i][kind] == got
							}
							require.True(t, known, "notes %d to %d, cut at %d: %v", from, to, cut, got)
						}
					}
				}
			}
		}
	})
}

// oldest returns the oldest note that a read may return after a torn write between two images of
// the file. A write of one note leaves that note or the previous one. A write of several notes can
// damage one slot and leave the other unchanged, but it leaves at least one note if both slots were
// used.
func oldest(images [][]byte, from, to int, kind syncedKind) int {
	switch {
	case to <= from+1:
		return from
	case from > 0 && readSlots(images[from], kind)[syncedSlots-1].state == slotWhole:
		return 1
	}
	return 0
}

// tornFS records a power loss during a write to SYNCED.
type tornFS struct {
	*vfs.MemFS
	writes, at, keep int        // the write number at, counted from 1, is cut to keep bytes
	after            *vfs.MemFS // content of the disk after the power loss
}

func (fs *tornFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := fs.MemFS.OpenReadWrite(name, c, o...)
	if err == nil && path.Base(name) == syncedName {
		f = &tornFile{f, fs}
	}
	return f, err
}

type tornFile struct {
	vfs.File
	fs *tornFS
}

func (f *tornFile) WriteAt(b []byte, at int64) (int, error) {
	if f.fs.writes++; f.fs.writes == f.fs.at {
		if _, err := f.File.WriteAt(b[:f.fs.keep], at); err != nil {
			return 0, err
		}
		f.fs.after = processKill(f.fs.MemFS)
	}
	return f.File.WriteAt(b, at)
}

// TestAStoreOpensAfterATornNote loses power at each byte of the first notes of a store, and of the
// first notes after a restart. The store then opens with all acknowledged commits.
func TestAStoreOpensAfterATornNote(t *testing.T) {
	for restart := range 2 {
		torn := 0
		for at := 1; at <= 8; at++ {
			for keep := range syncedBytes + 1 {
				mem := vfs.NewCrashableMem()
				before := 0
				if restart == 1 { // start from a killed process
					s := open(t, mem, Sync, 0)
					for range 3 {
						s.set(t)
					}
					killed := processKill(mem)
					s.close(t)
					mem, before = killed, s.n
				}
				fs := &tornFS{MemFS: mem, at: at, keep: keep}
				s := open(t, fs, Sync, 0)
				s.n = before
				acked := before
				for range 3 {
					s.set(t)
					if fs.after == nil {
						acked = s.n
					}
				}
				s.close(t)
				if fs.after == nil {
					continue
				}
				torn++
				about := fmt.Sprintf("note %d, %d bytes, restart %d", at, keep, restart)
				require.NoError(t, BreakSeal(fs.after, "store", false), about)
				require.GreaterOrEqual(t, present(t, fs.after), acked, about)
			}
		}
		require.GreaterOrEqual(t, torn, 4*(syncedBytes+1), "several notes were torn")
	}
}

// If the newer note is torn, the older one still detects damage.
func TestTheOlderNoteOfATornOneIsChecked(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := open(t, mem, Sync, 0)
	for range 4 {
		s.set(t)
	}
	killed := processKill(mem)
	s.close(t)
	text := bytesOf(t, killed, syncedPath)
	slots := readSlots(text, syncedLog)
	newest, ok := newestSlot(slots)
	require.True(t, ok)
	older := slots[1-newest]
	require.Equal(t, slotWhole, older.state)
	require.Less(t, older.note.length, slots[newest].note.length)
	text[syncedOffset(syncedLog, newest)+5] ^= 1
	put(t, killed, syncedPath, text)
	require.NoError(t, BreakSeal(killed, "store", true))
	log := newestLog(t, killed)
	for at, length := int64(0), older.note.length; at < length; at++ {
		require.ErrorContains(t, BreakSeal(damaged(t, killed, log, int(at)*8), "store", false), log)
	}
}

// Versions without second slots write and read only the first ones.
func TestNotesOfEarlierVersionsAreRead(t *testing.T) {
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("store", 0o700))
	n := &syncedNote{fs: fs, path: syncedPath}
	require.NoError(t, n.note(syncedLog, 7, 700))
	require.NoError(t, n.note(syncedManifest, 5, 50))
	require.NoError(t, n.close())
	old := bytesOf(t, fs, syncedPath)
	require.Len(t, old, 2*syncedBytes, "the first notes are in the slots of an earlier version")
	read := func() (log, manifest SyncedFile) {
		log, err := readSynced(fs, "store", syncedLog)
		require.NoError(t, err)
		manifest, err = readSynced(fs, "store", syncedManifest)
		require.NoError(t, err)
		return log, manifest
	}
	log, manifest := read()
	require.Equal(t, SyncedFile{7, 700}, log)
	require.Equal(t, SyncedFile{5, 50}, manifest)
	n = &syncedNote{fs: fs, path: syncedPath}
	require.NoError(t, n.note(syncedLog, 8, 10))
	require.NoError(t, n.close())
	require.Equal(t, old, bytesOf(t, fs, syncedPath)[:len(old)], "the old notes stay until the next one is complete")
	log, manifest = read()
	require.Equal(t, SyncedFile{8, 10}, log)
	require.Equal(t, SyncedFile{5, 50}, manifest)

	put(t, fs, syncedPath, old[:syncedBytes]) // as before the first manifest
	log, manifest = read()
	require.Equal(t, SyncedFile{7, 700}, log)
	require.Equal(t, SyncedFile{}, manifest)
}

// TestTheNoteOfAMissingManifestIsForgotten loses a manifest but not its note. Pebble may then
// create a shorter manifest with the same number, which must not look like damage.
func TestTheNoteOfAMissingManifestIsForgotten(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := open(t, mem, Sync, 0)
	s.set(t)
	killed := processKill(mem)
	s.close(t)
	n := &syncedNote{fs: killed, path: syncedPath}
	require.NoError(t, n.note(syncedManifest, 1000, 1<<20))
	require.NoError(t, n.close())
	require.NoError(t, BreakSeal(killed, "store", false))
	require.Equal(t, 1, present(t, killed.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})))
	files, err := Guard(killed, "store", Sync, 0, NewLog(nil, nil))
	require.NoError(t, err)
	lock, err := files.Lock("store/LOCK")
	require.NoError(t, err)
	left, err := readSynced(killed, "store", syncedManifest)
	require.NoError(t, err)
	require.Equal(t, SyncedFile{}, left)
	require.NoError(t, lock.Close())
	require.NoError(t, files.Close())
}

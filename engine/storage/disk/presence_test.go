package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// noFiles is a file system that fails to list folders while none is set, as if there were no file
// descriptors.
type noFiles struct {
	vfs.FS
	none atomic.Bool
}

func (n *noFiles) List(dir string) ([]string, error) {
	if n.none.Load() {
		return nil, &os.PathError{Op: "open", Path: dir, Err: unix.EMFILE}
	}
	return n.FS.List(dir)
}

// A look that fails for lack of a file descriptor reports no loss. A later look detects the
// removal.
func TestALookWithoutFilesIsRepeated(t *testing.T) {
	t.Chdir(t.TempDir())
	fs := &noFiles{FS: vfs.Default}
	s := open(t, fs, Sync, never)
	s.set(t)
	require.NoError(t, s.files.Missing())
	fs.none.Store(true)
	require.NoError(t, os.Rename("store/LOCK", "taken"))
	require.NoError(t, s.files.Missing())
	s.files.failStop.here.settled = time.Now().Add(-time.Hour)
	require.NoError(t, s.files.Missing())
	fs.none.Store(false)
	require.ErrorContains(t, s.files.Missing(), "store/LOCK was removed while the server ran")
	require.NoError(t, os.Rename("taken", "store/LOCK"))
	s.close(t)
}

// coarseTimes is a file system whose folders have a modification time set by the test. It counts
// listings.
type coarseTimes struct {
	vfs.FS
	modTime time.Time
	lists   int
}

type coarseInfo struct {
	vfs.FileInfo
	modTime time.Time
}

func (i coarseInfo) ModTime() time.Time { return i.modTime }

func (c *coarseTimes) Stat(name string) (vfs.FileInfo, error) {
	info, err := c.FS.Stat(name)
	return coarseInfo{info, c.modTime}, err
}

func (c *coarseTimes) List(dir string) ([]string, error) {
	c.lists++
	return c.FS.List(dir)
}

// A removal right after another change may leave the folder's modification time unchanged. Looks
// detect it within a second, but do not list a folder that has not changed for a long time.
func TestARemovalIsFoundDespiteCoarseTimes(t *testing.T) {
	dir := t.TempDir()
	table := filepath.Join(dir, "000001.sst")
	require.NoError(t, os.WriteFile(table, nil, 0o600))
	synctest.Test(t, func(t *testing.T) {
		fs := &coarseTimes{FS: vfs.Default, modTime: time.Unix(1, 0)}
		p := newFailStopFS(fs, dir, NewLog(nil, nil)).here
		require.NoError(t, p.begin())
		looksFor := func(d time.Duration) error {
			for range d / lookEvery {
				time.Sleep(lookEvery)
				if err := p.look(); err != nil {
					return err
				}
			}
			return nil
		}
		require.NoError(t, looksFor(time.Minute))
		lists := fs.lists
		require.NoError(t, looksFor(time.Minute))
		require.Equal(t, lists, fs.lists)

		fs.modTime = time.Unix(2, 0)
		require.NoError(t, looksFor(lookEvery))
		require.NoError(t, os.Remove(table))
		require.ErrorContains(t, looksFor(time.Second), table+" was removed while the server ran")
		require.NoError(t, p.end())
	})
}

// Missing detects that a copy replaced the open log.
func TestAReplacedLogIsFound(t *testing.T) {
	s := onDisk(t, Sync)
	log := newestLog(t, vfs.Default)
	require.NoError(t, os.Rename(log, "taken"))
	text, err := os.ReadFile("taken")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(log, text, 0o600))
	require.ErrorContains(t, s.files.Missing(), log+" was replaced by another file while the server ran")
	require.NoError(t, os.Rename("taken", log))
	require.NoError(t, s.files.Missing())
	s.close(t)
}

// Missing reports nothing while the store creates, renames and removes files.
func TestABusyStoreMissesNothing(t *testing.T) {
	for _, d := range []Durability{Sync, Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			t.Chdir(t.TempDir())
			s := open(t, vfs.Default, d, time.Millisecond)
			done := make(chan struct{})
			var looking sync.WaitGroup
			looks := 0
			looking.Go(func() {
				for ; ; looks++ {
					select {
					case <-done:
						return
					default:
					}
					if !assert.NoError(t, s.files.Missing()) {
						return
					}
					runtime.Gosched()
				}
			})
			for range 30 {
				s.set(t)
				require.NoError(t, s.db.Flush())
				if s.n%5 == 0 {
					require.NoError(t, s.db.Compact(t.Context(), key(0), key(s.n), false))
					require.NoError(t, s.db.Checkpoint(fmt.Sprintf("copy%d", s.n)))
				}
			}
			close(done)
			looking.Wait()
			t.Log(looks, "looks")
			s.close(t)
		})
	}
}

// changingFile is a file that the store changes while look runs.
type changingFile struct {
	t     *testing.T
	store *failStopFS
	path  string
	file  vfs.File
	calls int
}

func (*changingFile) leave() {}

func (f *changingFile) create() {
	f.calls++
	var err error
	f.file, err = f.store.Create(f.path, vfs.WriteCategoryUnspecified)
	require.NoError(f.t, err)
}

func (f *changingFile) remove() {
	f.calls++
	// No other file gets its inode.
	require.NoError(f.t, os.Link(f.path, filepath.Join(f.t.TempDir(), "inode")))
	require.NoError(f.t, f.file.Close())
	require.NoError(f.t, f.store.Remove(f.path))
}

func (f *changingFile) replace() {
	f.remove()
	f.create()
}

// hookedFS calls functions after each listing, and before and after each Stat of a file.
type hookedFS struct {
	vfs.FS
	path                             string
	afterList, beforeStat, afterStat func()
}

func (h *hookedFS) List(dir string) ([]string, error) {
	defer h.afterList()
	return h.FS.List(dir)
}

func (h *hookedFS) Stat(name string) (vfs.FileInfo, error) {
	if name == h.path {
		h.beforeStat()
		defer h.afterStat()
	}
	return h.FS.Stat(name)
}

// A look reports nothing if the store changes a file between the operations of the look.
func TestALookAllowsForConcurrentChanges(t *testing.T) {
	type change = func(*changingFile)
	for what, c := range map[string]struct {
		name                             string
		exists                           bool // before the look
		afterList, beforeStat, afterStat change
	}{
		"removed":       {"000001.sst", false, (*changingFile).create, (*changingFile).remove, (*changingFile).leave},
		"created again": {"000001.sst", false, (*changingFile).create, (*changingFile).remove, (*changingFile).create},
		"another log":   {"000001.log", true, (*changingFile).leave, (*changingFile).replace, (*changingFile).leave},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			fs := &hookedFS{FS: vfs.Default, path: filepath.Join(dir, c.name), afterList: func() {}}
			f := &changingFile{t: t, store: newFailStopFS(fs, dir, NewLog(nil, nil)), path: fs.path}
			require.NoError(t, f.store.here.begin())
			if c.exists {
				f.create()
			}
			f.calls = 0
			fs.afterList = func() { c.afterList(f) }
			fs.beforeStat = func() { c.beforeStat(f) }
			fs.afterStat = func() { c.afterStat(f) }
			require.NoError(t, f.store.here.look())
			require.GreaterOrEqual(t, f.calls, 2)
			require.NoError(t, f.store.here.end())
		})
	}
}

// A log may be closed while look runs. Pebble's in-memory file system panics if a closed file is
// used.
func TestALookAsksNoClosedLog(t *testing.T) {
	fs := newFailStopFS(vfs.NewMem(), "data", NewLog(nil, nil))
	require.NoError(t, fs.MkdirAll("data", 0o755))
	log, err := fs.FS.Create("data/000001.log", vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	p := fs.here
	require.NoError(t, p.begin())
	p.opened(&failStopFile{File: log, fs: fs, name: "data/000001.log"})
	require.NoError(t, log.Close())
	require.NoError(t, p.look())
	require.NoError(t, p.end())
}

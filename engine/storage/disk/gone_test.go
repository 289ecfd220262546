package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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

// lines collects a log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) containing(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

var noMark = Mark{Set: true}

// mount mounts a file system of its own at a folder. The test is skipped where that is not
// permitted.
func mount(t *testing.T, dir string) {
	t.Helper()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m")
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENODEV) {
		t.Skipf("mounting a tmpfs is not permitted here (%v): run it as root, or with unshare -rm", err)
	}
	require.NoError(t, err)
}

// A server ends within a second, and says why in one line, when its data folder is not there any
// more, is another one, or is read-only.
func TestAServerEndsWithoutItsDataFolder(t *testing.T) {
	for name, c := range map[string]struct {
		mounted bool
		change  func(t *testing.T, dir string)
		says    string
	}{
		"removed": {false, func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(dir)) }, "was removed, renamed or unmounted while the server ran"},
		"renamed": {false, func(t *testing.T, dir string) { require.NoError(t, os.Rename(dir, dir+"2")) }, "was removed, renamed or unmounted while the server ran"},
		"replaced": {false, func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.Mkdir(dir, 0o700))
		}, "is another folder than the server opened"},
		"a file": {false, func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(dir))
			require.NoError(t, os.WriteFile(dir, nil, 0o600))
		}, "is another folder than the server opened"},
		"unmounted": {true, func(t *testing.T, dir string) { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) }, "is another folder than the server opened"},
		"mounted over": {false, func(t *testing.T, dir string) {
			mount(t, dir)
			t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
		}, "is another folder than the server opened"},
		"read-only": {true, func(t *testing.T, dir string) {
			require.NoError(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
			t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
		}, "is on a file system that became read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.Mkdir(dir, 0o700))
			if c.mounted {
				mount(t, dir)
			}
			synctest.Test(t, func(t *testing.T) {
				log, ended := &lines{}, &lines{}
				s := WatchSpace(SpaceOptions{
					Dir: dir, Low: noMark, Critical: noMark, Log: slog.New(slog.NewTextHandler(log, nil)),
					Fatal: func(problem string) { _, _ = io.WriteString(ended, problem+"\n") },
				})
				defer s.Close()
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Empty(t, ended.containing(""))
				c.change(t, dir)
				time.Sleep(time.Second)
				synctest.Wait()
				said := ended.containing("")
				require.Len(t, said, 1)
				require.Contains(t, said[0], dir+" "+c.says)
				require.Contains(t, said[0], "start the server again", "it says what to do")
				time.Sleep(time.Minute)
				s.Close()
				assert.Len(t, ended.containing(""), 1)
				assert.Len(t, log.containing("level=ERROR"), 1)
				assert.LessOrEqual(t, len(log.containing("level=WARN")), 1, "the log is bounded")
			})
		})
	}
}

// noUsage is a file system whose free space can't be read for some time.
type noUsage struct {
	vfs.FS
	err atomic.Pointer[error]
}

func (n *noUsage) GetDiskUsage(dir string) (vfs.DiskUsage, error) {
	if err := n.err.Load(); err != nil {
		return vfs.DiskUsage{}, *err
	}
	return n.FS.GetDiskUsage(dir)
}

func TestUnreadableSpaceIsLoggedOncePerChange(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		log, fs := &lines{}, &noUsage{FS: vfs.Default}
		s := WatchSpace(SpaceOptions{
			FS: fs, Dir: dir, Low: noMark, Critical: noMark, Log: slog.New(slog.NewTextHandler(log, nil)), Fatal: func(problem string) { t.Error(problem) },
		})
		defer s.Close()
		for n := 1; n <= 3; n++ {
			broken := error(unix.EIO)
			fs.err.Store(&broken)
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Len(t, log.containing("can't be read"), n)
			fs.err.Store(nil)
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Len(t, log.containing("can be read again"), n)
		}
	})
}

// onDisk opens a store on the operating system's file system, in the folder "store" of a folder of
// its own.
func onDisk(t *testing.T, d Durability) *testStore {
	t.Helper()
	t.Chdir(t.TempDir())
	s := open(t, vfs.Default, d, never)
	for range 3 {
		s.set(t)
	}
	require.NoError(t, s.db.Flush())
	s.set(t)
	return s
}

func goneOf(t *testing.T, err error) *GoneError {
	t.Helper()
	var gone *GoneError
	require.ErrorAs(t, err, &gone)
	return gone
}

// Each file of a store is missed when somebody takes it, and so is the folder.
func TestAStoreMissesEachOfItsFiles(t *testing.T) {
	for _, d := range []Durability{Sync, Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			s := onDisk(t, d)
			require.NoError(t, s.files.Missing())
			names, err := os.ReadDir("store")
			require.NoError(t, err)
			seen := ""
			for _, n := range names {
				seen += n.Name() + " "
				path := filepath.Join("store", n.Name())
				require.NoError(t, os.Rename(path, "taken"))
				err := s.files.Missing()
				if n.Name() == syncedName {
					require.NoError(t, err, "an operator may remove it")
				} else {
					require.Equal(t, path, goneOf(t, err).Path)
					require.ErrorContains(t, err, "was removed while the server ran: restore a backup")
				}
				require.NoError(t, os.Rename("taken", path))
				require.NoError(t, s.files.Missing())
			}
			for _, kind := range []string{walSuffix, tableSuffix, manifestPrefix, "LOCK", optionsPrefix} {
				require.Contains(t, seen, kind)
			}
			require.NoError(t, os.Rename("store", "taken"))
			require.Equal(t, "store", goneOf(t, s.files.Missing()).Path)
			require.NoError(t, os.Mkdir("store", 0o700))
			require.ErrorContains(t, s.files.Missing(), "is another folder than the server opened")
			require.NoError(t, os.Remove("store"))
			require.NoError(t, os.Rename("taken", "store"))
			require.NoError(t, s.files.Missing())
			s.set(t)
			s.close(t)
			require.NoError(t, s.files.Missing(), "a closed store has nothing to miss")
		})
	}
}

// noFiles is a file system whose folders can't be listed for some time, as when the process may
// open no more files.
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

// A look that fails for want of a file descriptor says nothing. What it did not see, a later one
// sees.
func TestALookWithoutFilesIsRepeated(t *testing.T) {
	t.Chdir(t.TempDir())
	fs := &noFiles{FS: vfs.Default}
	s := open(t, fs, Sync, never)
	s.set(t)
	require.NoError(t, s.files.Missing())
	fs.none.Store(true)
	require.NoError(t, os.Rename("store/LOCK", "taken"))
	require.NoError(t, s.files.Missing())
	s.files.failStop.here.changedSeen = time.Now().Add(-2 * folderSettles) // it is long ago
	require.NoError(t, s.files.Missing())
	fs.none.Store(false)
	require.ErrorContains(t, s.files.Missing(), "store/LOCK was removed while the server ran")
	require.NoError(t, os.Rename("taken", "store/LOCK"))
	s.close(t)
}

// A copy in the place of the log that is written is not that log.
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

// Whether files come and go by the store itself, or are all there, is told apart while the store
// works.
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

// A commit whose log was removed is not done, although its fsync succeeds.
func TestARemovedLogAcknowledgesNothing(t *testing.T) {
	s := onDisk(t, Sync)
	require.NoError(t, os.RemoveAll("store"))
	_ = goneOf(t, s.commit())
	require.Contains(t, *s.fatal.Load(), "was removed while the server ran, or its folder was")
	_ = s.db.Close()
	_ = s.files.Close()
}

// Once a look found the folder gone, no commit is done in any mode, however long it takes to end
// the process.
func TestALostStoreAcknowledgesNothing(t *testing.T) {
	for _, d := range []Durability{Sync, Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			s := onDisk(t, d)
			gone := &GoneError{"data", "was removed", "restore a backup"}
			s.files.lose(gone)
			require.ErrorIs(t, s.commit(), gone)
			require.Equal(t, gone.Error(), *s.fatal.Load())
			_ = s.db.Close()
			_ = s.files.Close()
		})
	}
}

// A log may be closed while look runs. A closed file of Pebble's file system in memory panics when it is asked.
func TestALookAsksNoClosedLog(t *testing.T) {
	fs := &failStopFS{FS: vfs.NewMem(), dir: "data"}
	require.NoError(t, fs.MkdirAll("data", 0o755))
	log, err := fs.FS.Create("data/000001.log", vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	p := &presence{fs: fs}
	require.NoError(t, p.begin())
	p.opened(&failStopFile{File: log, fs: fs, name: "data/000001.log"})
	require.NoError(t, log.Close())
	require.NoError(t, p.look())
	require.NoError(t, p.end())
}

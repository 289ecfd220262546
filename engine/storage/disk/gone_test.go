package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

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

// mount mounts a tmpfs at a folder. It skips the test if mounting is not permitted.
func mount(t *testing.T, dir string) {
	t.Helper()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m")
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENODEV) {
		t.Skipf("mounting a tmpfs is not permitted here (%v): run it as root, or with unshare -rm", err)
	}
	require.NoError(t, err)
}

// A server ends within a second, and logs the cause in one line, if its data folder is removed,
// replaced or made read-only.
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
				require.Contains(t, said[0], "start the server again", "the message has the remedy")
				time.Sleep(time.Minute)
				s.Close()
				assert.Len(t, ended.containing(""), 1)
				assert.Len(t, log.containing("level=ERROR"), 1)
				assert.LessOrEqual(t, len(log.containing("level=WARN")), 1, "the log is bounded")
			})
		})
	}
}

// noUsage is a file system whose free space can't be read while err is set.
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

// onDisk opens a store in the folder "store" of a temporary folder on the operating system's file
// system.
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

// Missing detects the removal of each file of a store, and of its folder.
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
					require.NoError(t, err, "an operator may remove SYNCED")
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
			require.NoError(t, s.files.Missing(), "a closed store reports nothing missing")
		})
	}
}

// A commit fails after its log was removed, although the fsync succeeds.
func TestARemovedLogAcknowledgesNothing(t *testing.T) {
	s := onDisk(t, Sync)
	require.NoError(t, os.RemoveAll("store"))
	_ = goneOf(t, s.commit())
	require.Contains(t, *s.fatal.Load(), "was removed while the server ran, or its folder was")
	_ = s.db.Close()
	_ = s.files.Close()
}

// After the loss of a store no commit succeeds in any mode, even if the process does not end for a
// while.
func TestALostStoreAcknowledgesNothing(t *testing.T) {
	for _, d := range []Durability{Sync, Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			s := onDisk(t, d)
			gone := &GoneError{"data", "was removed", "restore a backup"}
			s.files.failStop.loss.Load().record(gone)
			require.ErrorIs(t, s.commit(), gone)
			require.Equal(t, gone.Error(), *s.fatal.Load())
			_ = s.db.Close()
			_ = s.files.Close()
		})
	}
}

// If an operation fails because the store's folder is missing, no store of the data folder
// acknowledges anything after that.
func TestALossIsSharedByAllStores(t *testing.T) {
	s := onDisk(t, Interval)
	other, err := Guard(vfs.NewMem(), "other", None, 0, NewLog(nil, func(string) {}))
	require.NoError(t, err)
	space := &Space{o: SpaceOptions{Fatal: func(string) {}}, users: map[SpaceUser]struct{}{}}
	space.Join(&user{files: s.files})
	space.Join(&user{files: other})
	require.NoError(t, space.CheckPresent())

	require.NoError(t, os.RemoveAll("store"))
	_, err = s.files.Create("store/000099.sst", vfs.WriteCategoryUnspecified)
	require.ErrorIs(t, err, os.ErrNotExist)
	gone := goneOf(t, s.commit())
	require.Equal(t, "store/000099.sst", gone.Path)
	require.ErrorIs(t, other.failStop.checkPresent(), gone)
	require.ErrorIs(t, space.CheckPresent(), gone)
	_ = s.db.Close()
	_ = s.files.Close()
	require.NoError(t, other.Close())
}

// A failure of the node counts as a loss of the folder only if a file is missing.
func TestAFailureBecauseOfAMissingFileIsALoss(t *testing.T) {
	var ended []string
	space := &Space{o: SpaceOptions{Dir: "data", Fatal: func(problem string) { ended = append(ended, problem) }}, users: map[SpaceUser]struct{}{}}
	(*Space)(nil).CheckFailure(os.ErrNotExist)
	space.CheckFailure(io.ErrUnexpectedEOF)
	require.NoError(t, space.CheckPresent())
	require.Empty(t, ended)
	missing := fmt.Errorf("store the node's identity: %w", errors.Join(&os.LinkError{Op: "rename", Err: syscall.ENOENT}, io.ErrClosedPipe))
	space.CheckFailure(missing)
	require.Equal(t, "data", goneOf(t, space.CheckPresent()).Path)
	require.Contains(t, ended[0], "store the node's identity")
}

package disk

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/waittest"
)

// slowDisk blocks fsyncs of a store's logs and of its folder until they are released.
type slowDisk struct {
	mu   sync.Mutex
	held chan struct{} // nil means that fsyncs pass
}

func (d *slowDisk) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held == nil {
		d.held = make(chan struct{})
	}
}

func (d *slowDisk) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held != nil {
		close(d.held)
		d.held = nil
	}
}

func (d *slowDisk) String() string { return "slow disk" }

func (d *slowDisk) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		ofLog := strings.HasPrefix(op.Path, "store/") && strings.Contains(op.Path, walSuffix)
		if !ofLog && path.Clean(op.Path) != "store" {
			return nil
		}
		d.mu.Lock()
		held := d.held
		d.mu.Unlock()
		if held != nil {
			<-held
		}
	}
	return nil
}

func (s *testStore) rotate(t require.TestingT) {
	_, err := s.db.AsyncFlush()
	require.NoError(t, err)
}

// inTime runs a function that must not wait for a blocked disk.
func inTime(t *testing.T, slow *slowDisk, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(waittest.Most):
		slow.release()
		<-done
		require.FailNow(t, "the function waits for an fsync")
	}
}

// viewed returns the number of commits that a read-only store sees, and requires that the files
// stay unchanged.
func viewed(t require.TestingT, fs vfs.FS) (n int) {
	files, err := View(fs, "store", NewLog(nil, nil))
	require.NoError(t, err)
	before, err := fs.List("store")
	require.NoError(t, err)
	db, err := Open("store", &pebble.Options{
		FS: files, FormatMajorVersion: pebble.FormatColumnarBlocks, ReadOnly: true, Logger: NewLog(nil, nil),
	})
	require.NoError(t, err)
	it, err := db.NewIter(nil)
	require.NoError(t, err)
	for ok := it.First(); ok; ok = it.Next() {
		n++
	}
	require.NoError(t, it.Close())
	require.NoError(t, db.Close())
	require.NoError(t, files.Close())
	after, err := fs.List("store")
	require.NoError(t, err)
	require.ElementsMatch(t, before, after)
	return n
}

// TestCommitsDoNotWaitForTheFsyncOfClosedLogs begins several logs while no fsync ends. Commits
// continue until logsWaitingMax logs wait. A kill of the process during that loses nothing, and
// neither does a power loss once SyncLog has returned.
func TestCommitsDoNotWaitForTheFsyncOfClosedLogs(t *testing.T) {
	for _, d := range []Durability{Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			fs, slow := vfs.NewCrashableMem(), &slowDisk{}
			s := open(t, errorfs.Wrap(fs, slow), d, never)
			defer s.close(t)
			s.set(t)
			require.NoError(t, s.files.SyncLog())
			slow.hold()
			defer slow.release()
			inTime(t, slow, func() {
				for range logsWaitingMax {
					s.set(t)
					s.rotate(t)
				}
				s.set(t)
			})
			killed := processKill(fs)
			require.Equal(t, s.n, viewed(t, killed))
			require.Equal(t, s.n, present(t, killed))
			require.LessOrEqual(t, present(t, powerLoss(fs)), s.n)
			inTime(t, slow, func() { require.NoError(t, s.db.Checkpoint("copy", pebble.WithFlushedWAL())) })

			beyond := make(chan struct{})
			go func() {
				defer close(beyond)
				s.rotate(t)
			}()
			select {
			case <-beyond:
				require.FailNow(t, "more than logsWaitingMax logs wait")
			case <-time.After(50 * time.Millisecond):
			}
			slow.release()
			<-beyond
			s.set(t)
			require.NoError(t, s.files.SyncLog())
			require.Equal(t, s.n, present(t, powerLoss(fs)))
		})
	}
}

// TestSyncToDoesNotWait requests write-back without waiting for it.
func TestSyncToDoesNotWait(t *testing.T) {
	slow := &slowDisk{}
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("store", 0o700))
	files, err := Guard(errorfs.Wrap(fs, slow), "store", None, 0, NewLog(nil, nil))
	require.NoError(t, err)
	f, err := files.Create("store/000001.log", vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	slow.hold()
	defer slow.release()
	inTime(t, slow, func() {
		for range 10 {
			_, err := f.SyncTo(1 << 20)
			require.NoError(t, err)
		}
		require.NoError(t, f.Close())
	})
	slow.release()
	require.NoError(t, files.Close())
}

// TestPowerLossLeavesNoGap loses power, or kills the process, at any time while logs wait for their
// fsync. The store then has a prefix of the commits, including everything that SyncLog covered.
func TestPowerLossLeavesNoGap(t *testing.T) {
	pending := 0
	for _, d := range []Durability{Interval, None} {
		for seed := range uint64(80) {
			fs, slow := vfs.NewCrashableMem(), &slowDisk{}
			s := open(t, errorfs.Wrap(fs, slow), d, never)
			rng := rand.New(rand.NewPCG(seed, 7))
			synced := 0
			for range 60 {
				s.set(t)
				switch rng.IntN(10) {
				case 0, 1, 2:
					s.files.deferred.mu.Lock()
					full := s.files.deferred.waiting >= logsWaitingMax
					s.files.deferred.mu.Unlock()
					if !full {
						s.rotate(t)
					}
				case 3, 4:
					slow.hold()
				case 5:
					slow.release()
				case 6:
					slow.release()
					require.NoError(t, s.files.SyncLog())
					synced = s.n
				}
				if rng.IntN(5) > 0 {
					continue
				}
				percent := []int{0, 50, 90, 100}[rng.IntN(4)]
				cut := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
				names, err := cut.List("store")
				require.NoError(t, err)
				for _, name := range names {
					if strings.Contains(name, pendingInfix) {
						pending++
					}
				}
				require.NoError(t, BreakSeal(cut, "store", false), "seed %d", seed)
				seen := viewed(t, cut)
				n := present(t, cut)
				require.Equal(t, n, seen)
				require.GreaterOrEqual(t, n, synced, "seed %d", seed)
				if percent == 100 {
					require.Equal(t, s.n, n, "seed %d: a kill of the process loses nothing", seed)
				}
			}
			slow.release()
			s.close(t)
			require.Equal(t, s.n, present(t, powerLoss(fs)))
			names, err := fs.List("store")
			require.NoError(t, err)
			for _, name := range names {
				require.NotContains(t, name, pendingInfix)
			}
		}
	}
	require.Greater(t, pending, 100, "too few logs waited for their fsync")
}

// TestLogsAfterAGapAreDropped removes the middle of three pending logs.
func TestLogsAfterAGapAreDropped(t *testing.T) {
	fs, slow := vfs.NewCrashableMem(), &slowDisk{}
	s := open(t, errorfs.Wrap(fs, slow), None, 0)
	defer s.close(t)
	s.set(t)
	require.NoError(t, s.files.SyncLog())
	slow.hold()
	defer slow.release()
	var logs []string
	for range 3 {
		s.rotate(t)
		s.set(t)
	}
	killed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	names, err := killed.List("store")
	require.NoError(t, err)
	for _, name := range names {
		if _, ok := parsePending(name); ok {
			logs = append(logs, name)
		}
	}
	require.Len(t, logs, 3, "%v", names)
	slices.Sort(logs)
	require.NoError(t, killed.Remove("store/"+logs[1]))
	kept, dropped, err := pendingLogs(killed, "store")
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.Len(t, dropped, 1)
	require.Equal(t, viewed(t, killed), present(t, killed))
}

func TestPendingNamesAreRead(t *testing.T) {
	p, ok := parsePending(pendingName("000012.log", 9))
	require.True(t, ok)
	require.Equal(t, pendingLog{"000012.log.after-000009", "000012.log", 12, 9}, p)
	for _, name := range []string{"000012.log", "000012.sst.after-000009", "000012.log.after-", "000012.log.after-x", "x.log.after-000001"} {
		_, ok := parsePending(name)
		require.False(t, ok, name)
	}
	require.Equal(t, fmt.Sprintf("%06d.log", 12), logName(12))
}

// TestALogThatCannotBeRemovedHoldsUpNobody fails every removal, but commits continue.
func TestALogThatCannotBeRemovedHoldsUpNobody(t *testing.T) {
	fs := &noRemoval{FS: vfs.NewMem()}
	s := open(t, fs, None, 0)
	fs.fails.Store(true)
	for range 8 {
		s.set(t)
		s.rotate(t)
		require.NoError(t, s.files.SyncLog())
	}
	fs.fails.Store(false)
	s.set(t)
	s.close(t)
	require.Equal(t, s.n, present(t, fs))
}

package disk

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/internal/waittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const never = time.Hour // a sync interval that does not elapse in a test

// testStore is a Pebble database whose keys are the numbers of the commits that set them.
type testStore struct {
	db    *pebble.DB
	files *Files
	fatal atomic.Pointer[string]
	n     int
}

func open(t require.TestingT, fs vfs.FS, d Durability, interval time.Duration) *testStore {
	s := &testStore{}
	log := NewLog(nil, func(problem string) { s.fatal.CompareAndSwap(nil, &problem) })
	files, err := Guard(fs, "store", d, interval, log)
	require.NoError(t, err)
	s.files = files
	s.db, err = Open("store", &pebble.Options{
		FS: files, FormatMajorVersion: pebble.FormatColumnarBlocks, Logger: log, LoggerAndTracer: log,
	})
	require.NoError(t, err)
	return s
}

func key(n int) []byte { return fmt.Appendf(nil, "%06d", n) }

func (s *testStore) commit() error {
	b := s.db.NewBatch()
	err := b.Set(key(s.n), make([]byte, 100), nil)
	s.n++
	if err == nil { // a commit that waits does not return the log's error
		err = s.db.ApplyNoSyncWait(b, pebble.Sync)
	}
	if err == nil {
		err = b.SyncWait()
	}
	return errors.Join(err, b.Close())
}

func (s *testStore) set(t require.TestingT) { require.NoError(t, s.commit()) }

func (s *testStore) close(t require.TestingT) {
	require.NoError(t, s.db.Close())
	require.NoError(t, s.files.Close())
}

// present returns the number of commits in a store that is opened from a file system. It requires
// that no commit before the last one is missing.
func present(t require.TestingT, fs vfs.FS) (n int) {
	s := open(t, fs, Sync, 0)
	defer s.close(t)
	it, err := s.db.NewIter(nil)
	require.NoError(t, err)
	for ok := it.First(); ok; ok = it.Next() {
		require.Equal(t, string(key(n)), string(it.Key()))
		n++
	}
	require.NoError(t, it.Close())
	return n
}

// powerLoss returns the content of the disk after a power loss now, if no unsynced data reached it.
func powerLoss(fs *vfs.MemFS) vfs.FS { return fs.CrashClone(vfs.CrashCloneCfg{}) }

func TestDurabilityIsWhatACommitWaitsFor(t *testing.T) {
	for _, d := range []Durability{Sync, Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			s := open(t, fs, d, never)
			defer s.close(t)
			for range 5 {
				s.set(t)
				require.Equal(t, s.n, present(t, processKill(fs)))
				if d == Sync {
					require.Equal(t, s.n, present(t, powerLoss(fs)))
				} else {
					require.Zero(t, present(t, powerLoss(fs)))
				}
			}
		})
	}
}

func TestIntervalFsyncsUnasked(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Interval, time.Millisecond)
	defer s.close(t)
	s.set(t)
	require.Eventually(t, func() bool { return present(t, powerLoss(fs)) == s.n }, waittest.Most, 2*time.Millisecond)
}

func TestSyncLogPersistsWhatWasCommitted(t *testing.T) {
	for _, d := range []Durability{Sync, Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			s := open(t, fs, d, never)
			defer s.close(t)
			for range 5 {
				s.set(t)
				require.NoError(t, s.files.SyncLog())
				require.Equal(t, s.n, present(t, powerLoss(fs)))
			}
			require.NoError(t, s.db.Flush()) // a new log
			s.set(t)
			require.NoError(t, s.files.SyncLog())
			require.Equal(t, s.n, present(t, powerLoss(fs)))
		})
	}
}

// When several goroutines call SyncLog, each call returns only when its data is on the disk, even
// if another fsync was under way when the call began.
func TestSyncLogOfManyAtOnce(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, None, 0)
	defer s.close(t)
	var wg sync.WaitGroup
	var committed, short atomic.Int64
	var mu sync.Mutex
	for range 4 {
		wg.Go(func() {
			for range 20 {
				mu.Lock()
				err := s.commit()
				n := committed.Add(1)
				mu.Unlock()
				if assert.NoError(t, err) && assert.NoError(t, s.files.SyncLog()) && int64(present(t, powerLoss(fs))) < n {
					short.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, short.Load())
}

func isLogSync(op errorfs.Op) bool {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData:
		return strings.HasSuffix(op.Path, walSuffix)
	default:
		return false
	}
}

// After a failed fsync no caller learns that the log is on the disk, even if the file system later
// reports success.
func TestFailedSyncLogIsNotForgotten(t *testing.T) {
	for _, d := range []Durability{Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			toggle := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
				if isLogSync(op) {
					return fmt.Errorf("%s: %w", op.Path, errorfs.ErrInjected)
				}
				return nil
			})}
			s := open(t, errorfs.Wrap(vfs.NewMem(), toggle), d, never)
			s.set(t)
			toggle.On()
			require.ErrorIs(t, s.files.SyncLog(), errorfs.ErrInjected)
			require.NotNil(t, s.fatal.Load())
			assert.Contains(t, *s.fatal.Load(), "fsync store/")
			toggle.Off()
			require.ErrorIs(t, s.files.SyncLog(), errorfs.ErrInjected)
			require.ErrorIs(t, s.commit(), errorfs.ErrInjected)
			assert.Error(t, s.db.Close())
			require.ErrorIs(t, s.files.Close(), errorfs.ErrInjected)
		})
	}
}

// heldFile is a log file whose first fsync blocks until released and then fails.
type heldFile struct {
	vfs.File
	syncs         atomic.Int64
	held, release chan struct{}
}

func (f *heldFile) SyncData() error {
	if f.syncs.Add(1) > 1 {
		return nil // the system dropped the pages and reports success
	}
	close(f.held)
	<-f.release
	return errorfs.ErrInjected
}

// A caller that arrives while an fsync is under way waits for it and gets its error.
func TestFailedFsyncIsToldToAllWhoAsk(t *testing.T) {
	held := &heldFile{held: make(chan struct{}), release: make(chan struct{})}
	fs := vfs.NewMem()
	require.NoError(t, fs.MkdirAll("store", 0o700))
	d := newDeferredSync(newFailStopFS(fs, "store", NewLog(nil, func(string) {})), 0)
	f, err := d.begin("store/000001.log", "", func(string) (vfs.File, error) { return held, nil })
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	answers := make(chan error, 2)
	go func() { answers <- d.syncAll() }()
	<-held.held
	go func() { answers <- d.syncAll() }()
	for range 1000 { // the second call is waiting by now, or begins after the first has failed
		runtime.Gosched()
	}
	require.Empty(t, answers)
	close(held.release)
	require.ErrorIs(t, <-answers, errorfs.ErrInjected)
	require.ErrorIs(t, <-answers, errorfs.ErrInjected)
	require.ErrorIs(t, d.syncAll(), errorfs.ErrInjected)
	require.Equal(t, int64(1), held.syncs.Load())
	require.ErrorIs(t, d.close(), errorfs.ErrInjected)
}

func TestParseDurability(t *testing.T) {
	_, err := ParseDurability("often")
	require.ErrorContains(t, err, `durability "often" is not one of "sync", "interval", "none"`)
	for _, d := range []Durability{Sync, Interval, None} {
		got, err := ParseDurability(string(d))
		require.NoError(t, err)
		assert.Equal(t, d, got)
	}
	_, err = Guard(vfs.NewMem(), "store", "often", 0, NewLog(nil, nil))
	require.ErrorContains(t, err, `durability "often" is not one of`)
}

// Opening a second Pebble database in a folder fails with an error about the lock.
func TestLockedFolderIsNamed(t *testing.T) {
	dir := t.TempDir()
	first, err := Open(dir, &pebble.Options{FS: vfs.Default, Logger: NewLog(nil, nil)})
	require.NoError(t, err)
	_, err = Open(dir, &pebble.Options{FS: vfs.Default, Logger: NewLog(nil, nil)})
	require.ErrorContains(t, err, "lock")
	require.NoError(t, first.Close())
}

package disk

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/unsynced"
	"github.com/pronybench/prony/engine/internal/waittest"
)

// syncHookFS calls functions before and after each fsync of a log.
type syncHookFS struct {
	vfs.FS
	before, after func()
}

func (fs *syncHookFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.FS.Create(name, c)
	if err != nil || !strings.Contains(name, walSuffix) {
		return f, err
	}
	return &syncHookFile{f, fs}, nil
}

func (fs *syncHookFS) Unwrap() vfs.FS { return fs.FS }

type syncHookFile struct {
	vfs.File
	fs *syncHookFS
}

func (f *syncHookFile) SyncData() error {
	f.fs.before()
	defer func() { f.fs.after() }()
	return f.File.SyncData()
}

// An fsync covers a commit that ends before it. For a commit that ends during the fsync, this is
// unknown.
func TestAMarkIsTakenBeforeItsFsync(t *testing.T) {
	for _, d := range []Durability{Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			none := func() {}
			fs := &syncHookFS{mem, none, none}
			s := open(t, fs, d, never)
			w := unsynced.New(nil)
			s.files.Track(unsynced.Windows{w})
			acknowledge := func() {
				s.set(t)
				w.Acknowledged(1)
			}
			check := func(unsyncedTasks uint64) {
				t.Helper()
				require.Equal(t, unsyncedTasks, w.Loss().Tasks)
				require.LessOrEqual(t, uint64(s.n-present(t, powerLoss(mem))), unsyncedTasks)
			}
			acknowledge()
			acknowledge()
			check(2)
			fs.before = acknowledge // the fsync covers it, but its mark does not
			require.NoError(t, s.files.SyncLog())
			fs.before = none
			check(1)
			fs.after = acknowledge // the fsync does not cover it
			require.NoError(t, s.files.SyncLog())
			fs.after = none
			check(1)
			require.NoError(t, s.files.SyncLog())
			check(0)
			s.close(t)
		})
	}
}

// When Pebble begins a new log, the closed one is fsynced in every mode. That covers earlier
// acknowledgements, but not those during the fsync.
func TestAClosedLogIsCovered(t *testing.T) {
	for _, d := range []Durability{Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			w := unsynced.New(nil)
			var s *testStore
			acknowledge := func() {
				s.set(t)
				w.Acknowledged(1)
			}
			var once sync.Once
			during := make(chan struct{})
			s = open(t, &syncHookFS{mem, func() {}, func() {
				once.Do(func() {
					acknowledge()
					close(during)
				})
			}}, d, never)
			defer s.close(t)
			s.files.Track(unsynced.Windows{w})
			for range 3 {
				acknowledge()
			}
			require.NoError(t, s.db.Flush())
			<-during
			require.Eventually(t, func() bool { return w.Loss().Tasks <= 1 }, waittest.Most, time.Millisecond)
			require.Never(t, func() bool { return w.Loss().Tasks == 0 }, 20*time.Millisecond, time.Millisecond)
			require.Equal(t, 3, present(t, powerLoss(mem)))
		})
	}
}

// Under Sync a commit waits for its fsync, and the window counts nothing.
func TestSyncHasNoMarks(t *testing.T) {
	s := open(t, vfs.NewCrashableMem(), Sync, 0)
	defer s.close(t)
	w := unsynced.New(nil)
	s.files.Track(unsynced.Windows{w})
	s.set(t)
	assert.False(t, w.Counts())
}

// Under Interval no unsynced acknowledgement is older than one interval plus one fsync. Times in
// the test's bubble are exact.
func TestTheWindowOfIntervalIsOneIntervalAndOneFsync(t *testing.T) {
	const interval = 10 * time.Millisecond
	for _, fsync := range []time.Duration{0, 3 * time.Millisecond, 25 * time.Millisecond} {
		t.Run(fsync.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := vfs.NewMem()
				require.NoError(t, mem.MkdirAll("store", 0o700))
				fs := &syncHookFS{mem, func() {}, func() { time.Sleep(fsync) }}
				files, err := Guard(fs, "store", Interval, interval, NewLog(nil, nil))
				require.NoError(t, err)
				// A longer fsync is followed immediately by the next.
				most := max(interval, fsync) + fsync
				var peak time.Duration
				w := unsynced.New(func(l unsynced.Loss) {
					peak = max(peak, l.Age)
					assert.LessOrEqual(t, l.Age, most)
				})
				files.Track(unsynced.Windows{w})
				log, err := files.Create("store/000001.log", vfs.WriteCategoryUnspecified)
				require.NoError(t, err)
				rng := rand.New(rand.NewPCG(1, 5))
				for range 400 {
					_, err := log.Write([]byte("a commit"))
					require.NoError(t, err)
					require.NoError(t, log.Sync())
					w.Acknowledged(1)
					assert.LessOrEqual(t, w.Loss().Age, most)
					time.Sleep(time.Duration(rng.Int64N(int64(4 * time.Millisecond))))
				}
				assert.Greater(t, peak, most/2)
				require.NoError(t, log.Close())
				require.NoError(t, files.Close())
				assert.Zero(t, w.Loss())
			})
		})
	}
}

package storage

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/internal/waittest"
	"github.com/pronybench/prony/engine/queue"
)

const (
	waitMost = waittest.Most
	waitStep = 2 * time.Millisecond
	never    = time.Hour // a sync interval that does not elapse in a test

	walSuffix = ".log"
)

func seqRef(seq uint64) queue.Ref { return queue.Ref{Queue: 1, Seq: seq} }

func putSeq(t *testing.T, s *Store, seq uint64) {
	t.Helper()
	commit(t, s, func(b *Batch) { b.PutTask(seqRef(seq), queue.Task{Payload: make([]byte, 100)}) })
}

// present returns which of the tasks 0 to n-1 a store has when it is opened from a file system.
func present(t require.TestingT, fs vfs.FS, n uint64) []bool {
	s, err := Open("shard", Options{FS: fs, Durability: Sync})
	require.NoError(t, err)
	out := make([]bool, n)
	for seq := range out {
		_, out[seq], err = s.Task(seqRef(uint64(seq)))
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
	return out
}

func count(in []bool) (n uint64) {
	for _, v := range in {
		if v {
			n++
		}
	}
	return n
}

// powerLoss returns the content of the disk after a power loss now, if no unsynced data reached it.
func powerLoss(fs *vfs.MemFS) vfs.FS { return fs.CrashClone(vfs.CrashCloneCfg{}) }

// processKill returns the content that the operating system has after the process is killed now:
// all writes.
func processKill(fs *vfs.MemFS) vfs.FS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))})
}

func TestSyncSurvivesPowerLoss(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Options{Durability: Sync})
	defer closeStore(t, s)
	for seq := range uint64(20) {
		putSeq(t, s, seq)
		require.Equal(t, seq+1, count(present(t, powerLoss(fs), seq+1)), "after the commit of task %d", seq)
	}
}

func TestSyncSurvivesPowerLossWithManyCommitsUnderWay(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Options{Durability: Sync})
	defer closeStore(t, s)
	const n = 200
	commits := make([]Commit, n)
	b := s.NewBatch()
	for seq := range commits {
		b.PutTask(seqRef(uint64(seq)), queue.Task{})
		c, err := b.Submit()
		require.NoError(t, err)
		commits[seq] = c
	}
	for seq := 0; seq < n; seq++ {
		require.NoError(t, commits[seq].Wait())
		if seq%20 == 0 {
			require.Equal(t, uint64(seq+1), count(present(t, powerLoss(fs), uint64(seq+1))))
		}
	}
}

func TestKillOfTheProcessLosesNothing(t *testing.T) {
	for _, d := range []Durability{Sync, Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			s := open(t, fs, Options{Durability: d, SyncInterval: never})
			defer closeStore(t, s)
			for seq := range uint64(20) {
				putSeq(t, s, seq)
				require.Equal(t, seq+1, count(present(t, processKill(fs), seq+1)), "after the commit of task %d", seq)
			}
		})
	}
}

// Interval and None do not fsync for a commit.
func TestCommitsOfIntervalAndNoneDoNotSyncTheLog(t *testing.T) {
	for _, d := range []Durability{Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			s := open(t, fs, Options{Durability: d, SyncInterval: never})
			defer closeStore(t, s)
			putSeq(t, s, 0)
			require.Zero(t, count(present(t, powerLoss(fs), 1)))
		})
	}
}

func TestIntervalSyncsTheLogInTime(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Options{Durability: Interval, SyncInterval: time.Millisecond})
	defer closeStore(t, s)
	for seq := range uint64(3) { // also after an idle time
		putSeq(t, s, seq)
		require.Eventually(t, func() bool { return count(present(t, powerLoss(fs), seq+1)) == seq+1 }, waitMost, waitStep)
	}
}

func TestCloseLeavesNothingToLose(t *testing.T) {
	for _, d := range []Durability{Sync, Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			s := open(t, fs, Options{Durability: d, SyncInterval: never})
			putSeq(t, s, 0)
			closeStore(t, s)
			require.Equal(t, uint64(1), count(present(t, powerLoss(fs), 1)))
		})
	}
}

// gateFS blocks the creation of tables until it is opened, so that no table replaces a log.
type gateFS struct {
	vfs.FS
	open chan struct{}
}

func (g *gateFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, ".sst") {
		<-g.open
	}
	return g.FS.Create(name, c)
}

func (g *gateFS) Unwrap() vfs.FS { return g.FS }

// After a power loss a store opens again in every mode, regardless of how much unsynced data
// reached the disk, and even if a new log had just begun. The store then has a prefix of the
// commits.
func TestPowerLossLeavesABeginningThatOpens(t *testing.T) {
	for _, d := range []Durability{Sync, Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			gate := &gateFS{FS: mem, open: make(chan struct{})}
			s := open(t, gate, Options{Durability: d, SyncInterval: never})
			const n = 40 // of 20 kB: several of the first, small memtables
			var clones []vfs.FS
			for seq := range uint64(n) {
				commit(t, s, func(b *Batch) { b.PutTask(seqRef(seq), queue.Task{Payload: make([]byte, 20_000)}) })
				for _, percent := range []int{0, 50, 90} {
					clones = append(clones, mem.CrashClone(vfs.CrashCloneCfg{
						UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(seq, uint64(percent))),
					}))
				}
			}
			logs, err := mem.List("shard")
			require.NoError(t, err)
			require.Greater(t, strings.Count(strings.Join(logs, " "), walSuffix), 1, "expected more than one log, got %v", logs)
			close(gate.open)
			closeStore(t, s)
			for i, fs := range clones {
				there := present(t, fs, n)
				for seq := range there[:n-1] {
					require.False(t, !there[seq] && there[seq+1], "clone %d: task %d is lost, but the next task is not", i, seq)
				}
				if d == Sync {
					require.Equal(t, uint64(i/3+1), count(there))
				}
			}
		})
	}
}

// Everything acknowledged under sync exists after a crash at any moment, and the queue's record
// agrees with its tasks, because a commit is atomic.
func TestCommitIsAllOrNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewCrashableMem()
		d := rapid.SampledFrom([]Durability{Sync, Interval, None}).Draw(t, "durability")
		s, err := Open("shard", Options{FS: fs, Durability: d, SyncInterval: never})
		require.NoError(t, err)
		b := s.NewBatch()
		record := queue.Record{ID: 1, Tenant: "t", Name: "q"}
		// For a torn record Pebble searches for a single flipped bit that would repair it, in time
		// quadratic in the size of the record.
		size := rapid.SampledFrom([]int{20, 100, 500, 2_000}).Draw(t, "size")
		var acked uint64
		for range rapid.IntRange(1, 5).Draw(t, "commits") {
			for range rapid.IntRange(1, 30).Draw(t, "tasks") {
				b.PutTask(seqRef(record.NextSeq), queue.Task{Payload: make([]byte, size)})
				record.NextSeq++
			}
			record.Counts.Fresh = record.NextSeq
			b.PutQueue(&record)
			c, err := b.Submit()
			require.NoError(t, err)
			require.NoError(t, c.Wait())
			acked = record.NextSeq
		}
		crashed := fs.CrashClone(vfs.CrashCloneCfg{
			UnsyncedDataPercent: rapid.IntRange(0, 100).Draw(t, "percent"), RNG: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)),
		})
		require.NoError(t, s.Close())
		s, err = Open("shard", Options{FS: crashed, Durability: d})
		require.NoError(t, err)
		audited, err := s.Audit(1_000)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		var stored uint64
		for _, q := range audited {
			require.Equal(t, q.Counts.Fresh, q.Stored)
			stored = q.Stored
		}
		if d == Sync {
			require.Equal(t, acked, stored)
		}
	})
}

// failures collects the problems passed to Fatal.
type failures struct {
	mu  sync.Mutex
	all []string
}

func (f *failures) add(problem string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, problem)
}

func (f *failures) any() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.all) > 0
}

func isLogSync(op errorfs.Op) bool {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		return strings.HasSuffix(op.Path, walSuffix)
	default:
		return false
	}
}

// failing makes the operations selected by which fail while the toggle is on.
func failing(fs vfs.FS, which func(errorfs.Op) bool) (*errorfs.Toggle, vfs.FS) {
	toggle := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if which(op) {
			return fmt.Errorf("%s: %w", op.Path, errorfs.ErrInjected)
		}
		return nil
	})}
	return toggle, errorfs.Wrap(fs, toggle)
}

func isLogWrite(op errorfs.Op) bool {
	return op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, walSuffix)
}

// If the log cannot be written or synced, nothing is acknowledged: the commit under way fails.
func TestFailedLogAcknowledgesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		durability Durability
		which      func(errorfs.Op) bool
	}{
		"fsync under sync":     {Sync, isLogSync},
		"write under sync":     {Sync, isLogWrite},
		"write under interval": {Interval, isLogWrite},
		"write under none":     {None, isLogWrite},
	} {
		t.Run(name, func(t *testing.T) {
			var fatal failures
			mem := vfs.NewCrashableMem()
			toggle, fs := failing(mem, c.which)
			s := open(t, fs, Options{Durability: c.durability, SyncInterval: never, Fatal: fatal.add})
			putSeq(t, s, 0)
			toggle.On()
			b := s.NewBatch()
			b.PutTask(seqRef(1), queue.Task{})
			submitted, err := b.Submit()
			if err == nil {
				err = submitted.Wait()
			}
			require.True(t, err != nil || fatal.any(), "a commit succeeded that is not stored")
			require.ErrorIs(t, err, errorfs.ErrInjected)
			toggle.Off()
			assert.Error(t, s.Close(), "the log is incomplete")
		})
	}
}

// After a failed fsync of the log in the background, later commits fail, because the content of the
// disk is unknown.
func TestFailedFsyncOfIntervalFailsLaterCommits(t *testing.T) {
	var fatal failures
	toggle, fs := failing(vfs.NewMem(), isLogSync)
	s := open(t, fs, Options{Durability: Interval, SyncInterval: time.Millisecond, Fatal: fatal.add})
	putSeq(t, s, 0)
	toggle.On()
	var seq uint64
	b := s.NewBatch()
	var err error
	require.Eventually(t, func() bool {
		seq++
		b.PutTask(seqRef(seq), queue.Task{})
		var c Commit
		if c, err = b.Submit(); err == nil {
			err = c.Wait()
		}
		return err != nil
	}, waitMost, waitStep)
	require.ErrorIs(t, err, errorfs.ErrInjected)
	require.ErrorContains(t, err, "fsync of the log")
	toggle.Off()
	assert.Error(t, s.Close())
}

// A failed fsync in the background ends the process immediately, even without a further commit.
func TestFailedFsyncOfIntervalIsFatalAtOnce(t *testing.T) {
	var fatal failures
	toggle, fs := failing(vfs.NewMem(), isLogSync)
	s := open(t, fs, Options{Durability: Interval, SyncInterval: time.Millisecond, Fatal: fatal.add})
	putSeq(t, s, 0)
	toggle.On()
	putSeqs := func() bool { // until the log has data for the background fsync
		if !fatal.any() {
			b := s.NewBatch()
			b.PutTask(seqRef(1), queue.Task{})
			if c, err := b.Submit(); err == nil && c.Wait() == nil {
				require.Eventually(t, fatal.any, waitMost, waitStep)
			}
		}
		return fatal.any()
	}
	require.True(t, putSeqs())
	assert.Contains(t, fatal.all[0], "fsync shard/")
	toggle.Off()
	assert.Error(t, s.Close())
}

// If a checkpoint cannot be written, only the checkpoint fails: it may be on another disk.
func TestFailedCheckpointLeavesTheStoreAlone(t *testing.T) {
	inCopy := func(kind ...errorfs.OpKind) func(errorfs.Op) bool {
		return func(op errorfs.Op) bool { return strings.HasPrefix(op.Path, "copy") && slices.Contains(kind, op.Kind) }
	}
	for name, which := range map[string]func(errorfs.Op) bool{
		"folder": inCopy(errorfs.OpMkdirAll),
		"create": inCopy(errorfs.OpCreate, errorfs.OpLink),
		"write":  inCopy(errorfs.OpFileWrite),
		"fsync":  inCopy(errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo),
	} {
		t.Run(name, func(t *testing.T) {
			toggle, fs := failing(vfs.NewMem(), which)
			s := open(t, fs, Options{})
			putSeq(t, s, 0)
			require.NoError(t, s.db.Flush())
			putSeq(t, s, 1)
			toggle.On()
			require.ErrorIs(t, s.Checkpoint("copy"), errorfs.ErrInjected)
			toggle.Off()
			putSeq(t, s, 2)
			closeStore(t, s)
			require.Equal(t, uint64(3), count(present(t, fs, 3)))
		})
	}
}

// A store opens again after a power loss at any moment while it is opened, written or closed, even
// on a file system that preserves any subset of the unsynced folder entries.
func TestEveryMomentOfAReopenOpens(t *testing.T) {
	disk := vfs.NewCrashableMem()
	var mu sync.Mutex
	var moments []vfs.FS
	rng := rand.New(rand.NewPCG(1, 3))
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			for _, percent := range []int{0, 50, 50, 50, 90} {
				moments = append(moments, disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng}))
			}
		}
		return nil
	}))
	for seq := range uint64(4) {
		s := open(t, fs, Options{Durability: Sync})
		putSeq(t, s, seq)
		closeStore(t, s)
	}
	require.Greater(t, len(moments), 100)
	for i, m := range moments {
		s, err := Open("shard", Options{FS: m, Durability: Sync})
		require.NoError(t, err, "moment %d of %d", i, len(moments))
		require.NoError(t, s.Close())
	}
}

package storage

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/disk"
)

type youngState struct {
	tasks  map[uint64]string // headers and payloads by seq
	leases map[uint64]uint32 // attempts by batch
}

func (want youngState) require(t *testing.T, s *Store, what string) {
	t.Helper()
	got := youngState{map[uint64]string{}, map[uint64]uint32{}}
	fresh, _, err := s.Fresh(queue.Refill{Queue: seqRef(0).Queue, Lane: seqRef(0).Priority, Limit: 1 << 30, PayloadBytesMax: 1 << 30})
	require.NoError(t, err, what)
	for _, one := range fresh {
		got.tasks[one.Seq] = contentOf(one.Task)
	}
	require.NoError(t, scanLeases(s.live(), 0, func(l queue.RecoveredLease) (bool, error) {
		got.leases[l.Batch] = l.Refs[0].Attempt
		return true, nil
	}), what)
	require.Equal(t, want, got, what)
	for seq, text := range want.tasks {
		task, found, err := s.Task(seqRef(seq))
		require.NoError(t, err, what)
		require.True(t, found, what)
		require.Equal(t, text, contentOf(task), what)
	}
}

// moment is the content of a disk at some moment, with the bounds on the commits that it must have.
type moment struct {
	fs          *vfs.MemFS
	least, most int // commits
	kill        bool
}

// youngModel commits to a store and knows the expected content after each commit.
type youngModel struct {
	durability Durability
	rnd        *rand.Rand
	states     []youngState // by commit; the first is the empty store
	nextTask   uint64
	nextLease  uint64

	mu      sync.Mutex
	disk    *vfs.MemFS
	sure    int // number of commits that survive a power loss
	killed  int // number of commits that survive a kill of the process
	moments []moment
	per     int // about one in this many write operations is followed by a crash; 0 means none
}

func newYoungModel(d Durability, seed uint64) *youngModel {
	m := &youngModel{durability: d, rnd: rand.New(rand.NewPCG(seed, 11)), nextTask: 1, nextLease: 1}
	m.states = []youngState{{map[uint64]string{}, map[uint64]uint32{}}}
	return m
}

func (m *youngModel) committed() int { return len(m.states) - 1 }

// files returns a file system on a disk that records some moments.
func (m *youngModel) files(disk *vfs.MemFS) vfs.FS {
	m.disk = disk
	return beforeWrites(disk, func(op errorfs.Op) {
		m.mu.Lock()
		late := m.durability != Sync && strings.Contains(op.Path, walSuffix) && op.Kind != errorfs.OpFileWrite && m.rnd.IntN(4) == 0
		if m.per > 0 && m.rnd.IntN(m.per) == 0 {
			m.crashLocked()
		}
		m.mu.Unlock()
		if late { // some logs wait for their fsync
			time.Sleep(time.Millisecond)
		}
	})
}

// beforeWrites returns a file system that calls do before each operation that changes it.
func beforeWrites(fs vfs.FS, do func(errorfs.Op)) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			do(op)
		}
		return nil
	}))
}

// crashLocked records the content of the disk after a kill of the process or a power loss.
func (m *youngModel) crashLocked() {
	at := moment{kill: m.rnd.IntN(2) == 0, least: m.sure, most: len(m.states)}
	percent := []int{0, 50, 90}[m.rnd.IntN(3)]
	if at.kill {
		percent, at.least = 100, m.killed
	}
	at.fs = m.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: m.rnd})
	m.moments = append(m.moments, at)
}

func (m *youngModel) crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.crashLocked()
}

func (m *youngModel) intN(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rnd.IntN(n)
}

func (m *youngModel) options(fs vfs.FS) Options {
	return Options{
		FS: fs, Durability: m.durability, SyncInterval: time.Millisecond, Fatal: func(problem string) { panic(problem) },
		MemTableBytes: 64 << 10, YoungLogBytes: int64(2<<10 + m.intN(6<<10)), YoungBytes: int64(2<<10 + m.intN(10<<10)),
	}
}

func (m *youngModel) commit(t *testing.T, b *Batch) {
	m.mu.Lock()
	was := m.states[len(m.states)-1]
	now := youngState{maps.Clone(was.tasks), maps.Clone(was.leases)}
	for range m.rnd.IntN(8) {
		task := withHeaders(m.nextTask, fmt.Appendf(nil, "payload of %d %s", m.nextTask, strings.Repeat("x", m.rnd.IntN(60))))
		if m.rnd.IntN(12) == 0 {
			b.PutTask(seqRef(m.nextTask), task)
		} else {
			b.PutFresh(seqRef(m.nextTask), task)
		}
		now.tasks[m.nextTask] = contentOf(task)
		m.nextTask++
	}
	for _, seq := range sorted(was.tasks, func(a, b uint64) int { return int(a) - int(b) }) {
		if seq%17 != 0 && m.rnd.IntN(4) > 0 || m.rnd.IntN(40) == 0 {
			b.DropTask(seqRef(seq))
			delete(now.tasks, seq)
		} else if m.rnd.IntN(6) == 0 {
			task := withHeaders(seq, fmt.Appendf(nil, "replacement %d of %d", len(m.states), seq))
			b.ReplaceTask(seqRef(seq), task)
			now.tasks[seq] = contentOf(task)
		}
	}
	if m.rnd.IntN(2) == 0 {
		b.PutLease(m.nextLease, []queue.LeaseRef{{Ref: seqRef(m.nextLease), Attempt: 1}}, 0)
		now.leases[m.nextLease] = 1
		m.nextLease++
	}
	for _, id := range sorted(was.leases, func(a, b uint64) int { return int(a) - int(b) }) {
		switch m.rnd.IntN(8) {
		case 0, 1, 2:
			b.DropLease(id)
			delete(now.leases, id)
		case 3:
			now.leases[id]++
			b.ReplaceLease(id, []queue.LeaseRef{{Ref: seqRef(id), Attempt: now.leases[id]}}, 0)
		}
	}
	if m.rnd.IntN(3) > 0 || b.Empty() { // without this record most commits have no key
		b.PutMeta(queue.Meta{NextBatch: uint64(len(m.states))})
	} else {
		b.PutSystem("commit", fmt.Append(nil, len(m.states)))
	}
	m.states = append(m.states, now)
	m.mu.Unlock()
	c, err := b.Submit()
	require.NoError(t, err)
	require.NoError(t, c.Wait())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.killed = m.committed()
	if m.durability == Sync {
		m.sure = m.killed
	}
}

// found returns how many commits a store has, and requires exactly the content after that commit.
func (m *youngModel) found(t *testing.T, s *Store, what string) int {
	from, err := s.Recover()
	require.NoError(t, err, what)
	n := int(from.Meta.NextBatch)
	records, err := s.System()
	require.NoError(t, err)
	for _, r := range records {
		var of int
		_, err := fmt.Sscan(string(r.Value), &of)
		require.NoError(t, err)
		n = max(n, of)
	}
	require.LessOrEqual(t, n, m.committed(), what)
	m.states[n].require(t, s, fmt.Sprintf("%s: commit %d of %d", what, n, m.committed()))
	return n
}

// recover opens the content of a disk at a moment, first for reading. The process is killed or the
// power lost again during that.
func (m *youngModel) recover(t *testing.T, at moment, what string, crashes int) {
	before, err := at.fs.List("shard")
	if at.least == 0 && (err != nil || !strings.Contains(strings.Join(before, " "), "marker.manifest")) {
		return // the store was not created yet
	}
	viewer, err := Open("shard", Options{FS: at.fs, Durability: Sync, ReadOnly: true, Fatal: func(problem string) { panic(problem) }})
	require.NoError(t, err, what)
	viewed := m.found(t, viewer, what+", for reading")
	require.NoError(t, viewer.Close())
	after, err := at.fs.List("shard")
	require.NoError(t, err)
	require.Subset(t, append(before, "LOCK"), after)
	again := newYoungModel(m.durability, uint64(m.intN(1<<30)))
	again.states = m.states[:at.most:at.most]
	again.sure, again.killed = at.least, at.least
	if crashes > 0 {
		again.per = 20
	}
	s, err := Open("shard", again.options(again.files(at.fs)))
	require.NoError(t, err, what)
	n := again.found(t, s, what)
	require.GreaterOrEqual(t, n, at.least, what)
	require.Equal(t, viewed, n, what)
	again.mu.Lock()
	again.per = 0
	inOpen := again.moments
	again.moments = nil
	again.mu.Unlock()
	// A kill after the store was opened loses nothing. Under Sync neither does a power loss.
	if crashes > 0 {
		again.mu.Lock()
		again.killed = n
		if m.durability == Sync {
			again.sure = n
		}
		again.mu.Unlock()
		again.crash()
	}
	require.NoError(t, s.Close(), what)
	s, err = Open("shard", again.options(again.files(at.fs)))
	require.NoError(t, err, what)
	require.Equal(t, n, again.found(t, s, what+", closed"))
	require.NoError(t, s.Close(), what)
	for i, one := range append(inOpen, again.moments...) {
		again.recover(t, one, fmt.Sprintf("%s, then moment %d of %d (kill %v)", what, i, len(inOpen), one.kill), crashes-1)
	}
}

// TestYoungRecordsSurviveCrashes commits with small bounds, so that logs begin often and records
// are stored while others are added. It crashes at random moments: while commits are under way,
// while the store is opened and closed, and again during recovery. The disk must then have exactly
// the content after some commit: under Sync, the last acknowledged commit or a later one; after a
// kill, so in the other modes, too. A copy and a read-only store have the same content.
func TestYoungRecordsSurviveCrashes(t *testing.T) {
	seeds := uint64(1)
	if longtest.Asked(t) {
		seeds = 200
	}
	for _, d := range []Durability{Sync, Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			moments, retired, stored := 0, uint64(0), uint64(0)
			// The number of crashes and retirements depends on how Pebble's goroutines run.
			enough := func() bool {
				return moments > 10*int(seeds) && retired > 5*seeds && stored > 20*seeds
			}
			for seed := uint64(0); seed < seeds || !enough(); seed++ {
				require.Less(t, seed, 10*seeds, "too few crashes: %d moments, %d retirements, %d records stored", moments, retired, stored)
				m := newYoungModel(d, seed)
				mem := vfs.NewCrashableMem()
				fs := m.files(mem)
				m.per = 50
				for range 4 {
					s, err := Open("shard", m.options(fs))
					require.NoError(t, err)
					require.Equal(t, m.committed(), m.found(t, s, "opened"))
					b := s.NewBatch()
					for i := range 20 + m.intN(150) {
						m.commit(t, b)
						switch m.intN(60) {
						case 0:
							m.crash()
						case 1:
							require.NoError(t, s.Flush())
						case 2:
							require.NoError(t, s.files.SyncLog())
							m.mu.Lock()
							m.sure = m.committed()
							m.mu.Unlock()
						case 3:
							require.NoError(t, mem.RemoveAll("copy"))
							m.mu.Lock()
							per := m.per
							m.per = 0
							m.mu.Unlock()
							require.NoError(t, s.Checkpoint("copy"))
							copied, err := Open("copy", Options{FS: mem, Durability: Sync})
							require.NoError(t, err)
							require.Equal(t, m.committed(), m.found(t, copied, "a copy"))
							require.NoError(t, copied.Close())
							m.mu.Lock()
							m.per = per
							m.mu.Unlock()
						case 4:
							require.Equal(t, m.committed(), m.found(t, s, fmt.Sprint("after commit ", i)))
						}
					}
					young := s.Young()
					retired, stored = retired+young.Retirements, stored+young.Stored
					require.NoError(t, s.Close())
					m.mu.Lock()
					m.sure = m.committed()
					m.mu.Unlock()
					m.crash()
				}
				m.mu.Lock()
				m.per = 0
				m.mu.Unlock()
				for i, at := range m.moments {
					m.recover(t, at, fmt.Sprintf("seed %d, moment %d (kill %v)", seed, i, at.kill), 2)
				}
				moments += len(m.moments)
			}
			t.Logf("in all: %d moments, %d retirements, %d records stored", moments, retired, stored)
		})
	}
}

// TestPowerLossAfterAKillLosesNothing kills a process whose newest log has stored the records of
// the previous log. The newest log is not on the disk yet, so a power loss at any moment of the
// next start must not lose the content of the previous log.
func TestPowerLossAfterAKillLosesNothing(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Options{Durability: None, YoungLogBytes: 4 << 10})
	var soon []uint64
	for seq := uint64(13); seq < 60; seq++ {
		soon = append(soon, seq)
	}
	putFresh(t, s, append([]uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, soon...)...)
	require.Eventually(t, func() bool { return s.PebbleMetrics().Flushes == 1 }, waitMost, waitStep)
	require.NoError(t, s.files.SyncLog())
	dropTasks(t, s, soon...) // stores the others
	require.Zero(t, s.Young().Records)
	killed := cloned(fs)
	closeStore(t, s)
	logs := logsOf(t, killed)
	require.Len(t, logs, 2)
	newest := killed.PathJoin("shard", logs[1])
	content := bytesOf(t, killed, newest)
	f, err := killed.Create(newest, vfs.WriteCategoryUnspecified) // the content is not synced
	require.NoError(t, err)
	require.NoError(t, disk.SyncDir(killed, "shard"))
	_, err = f.Write(content)
	require.NoError(t, err)
	require.NoError(t, f.Close())

	var mu sync.Mutex
	var moments []vfs.FS
	s = open(t, errorfs.Wrap(killed, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			moments = append(moments, powerLoss(killed))
		}
		return nil
	})), Options{Durability: None})
	mu.Lock()
	moments = append(moments, powerLoss(killed))
	inOpen := moments
	mu.Unlock()
	closeStore(t, s)
	require.Greater(t, len(inOpen), 10)
	for i, m := range inOpen {
		there := present(t, m, 13)
		for seq := 2; seq <= 12; seq++ {
			require.True(t, there[seq], "task %d at moment %d of %d", seq, i, len(inOpen))
		}
	}
}

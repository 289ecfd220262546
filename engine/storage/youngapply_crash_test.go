package storage

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queue"
)

// sharedLog is one node's copy of the log that the nodes share.
type sharedLog struct {
	first, last uint64 // indexes of the entries that the node has
	synced      uint64 // index of the last entry that survives a power loss
}

// logModel applies a log to a store and knows the expected content after each entry.
type logModel struct {
	rnd     *rand.Rand
	entries []LogEntry   // the whole log, from index 1 on; never changed
	states  []youngState // by index; the first is the empty store

	mu      sync.Mutex
	log     sharedLog
	flushed uint64 // lower bound of the position on the disk
	disk    *vfs.MemFS
	moments []logMoment
	per     int // about one in this many write operations is followed by a crash; 0 means none
}

// logMoment is the content of a node's disk at some moment.
type logMoment struct {
	fs      *vfs.MemFS
	log     sharedLog
	flushed uint64
	kill    bool
}

// newLogModel writes a log of random entries of several tenures. Some entries of earlier tenures
// come late and take no effect.
func newLogModel(t *testing.T, seed uint64, entries int) *logModel {
	m := &logModel{rnd: rand.New(rand.NewPCG(seed, 13)), states: []youngState{{map[uint64]string{}, map[uint64]uint32{}}}}
	s, err := Open("writer", Options{FS: vfs.NewMem(), Durability: None, Replicated: true})
	require.NoError(t, err)
	w := logWriter{logModel: m, paper: &paper{}}
	for len(m.entries) < entries {
		w.write(t, s)
	}
	require.NoError(t, s.Close())
	return m
}

type logWriter struct {
	*logModel

	paper               *paper
	term                uint64
	batch               *Batch
	stale               *Batch // of the previous tenure
	nextTask, nextLease uint64
}

func (w *logWriter) add(entry []byte, now youngState) {
	w.entries = append(w.entries, LogEntry{Index: uint64(len(w.entries) + 1), Term: w.term, Data: entry})
	w.states = append(w.states, now)
}

func (w *logWriter) propose(t *testing.T, b *Batch) []byte {
	_, err := b.Submit()
	require.NoError(t, err)
	return w.paper.entries[len(w.paper.entries)-1]
}

func (w *logWriter) write(t *testing.T, s *Store) {
	was := w.states[len(w.states)-1]
	if w.batch == nil || w.rnd.IntN(15) == 0 {
		w.term++
		tenure := Tenure{Term: w.term, ID: w.rnd.Uint64()}
		w.stale, w.batch = w.batch, s.NewReplicatedBatch(w.paper, tenure)
		w.add(tenure.Begin(), was)
		return
	}
	// If this entry took effect, it would lose tasks, and put some that another entry puts later.
	if w.stale != nil && w.rnd.IntN(10) == 0 {
		for seq := range was.tasks {
			w.stale.DropTask(seqRef(seq))
		}
		w.stale.PutFresh(seqRef(w.nextTask+1), queue.Task{Payload: []byte("stale")})
		w.stale.PutLease(w.nextLease+1, []queue.LeaseRef{{Ref: seqRef(1), Attempt: 100}}, 0)
		w.add(w.propose(t, w.stale), was)
		return
	}
	now := youngState{maps.Clone(was.tasks), maps.Clone(was.leases)}
	for range w.rnd.IntN(8) {
		w.nextTask++
		task := withHeaders(w.nextTask, fmt.Appendf(nil, "payload of %d %s", w.nextTask, strings.Repeat("x", w.rnd.IntN(60))))
		w.batch.PutFresh(seqRef(w.nextTask), task)
		now.tasks[w.nextTask] = contentOf(task)
	}
	for _, seq := range slices.Sorted(maps.Keys(was.tasks)) {
		if seq%17 != 0 && w.rnd.IntN(4) > 0 || w.rnd.IntN(40) == 0 {
			w.batch.DropTask(seqRef(seq))
			delete(now.tasks, seq)
		} else if w.rnd.IntN(6) == 0 {
			task := withHeaders(seq, fmt.Appendf(nil, "replacement %d of %d", len(w.states), seq))
			w.batch.ReplaceTask(seqRef(seq), task)
			now.tasks[seq] = contentOf(task)
		}
	}
	if w.rnd.IntN(2) == 0 {
		w.nextLease++
		w.batch.PutLease(w.nextLease, []queue.LeaseRef{{Ref: seqRef(w.nextLease), Attempt: 1}}, 0)
		now.leases[w.nextLease] = 1
	}
	for _, id := range slices.Sorted(maps.Keys(was.leases)) {
		switch w.rnd.IntN(12) {
		case 0, 1, 2:
			w.batch.DropLease(id)
			delete(now.leases, id)
		case 3:
			now.leases[id]++
			w.batch.ReplaceLease(id, []queue.LeaseRef{{Ref: seqRef(id), Attempt: now.leases[id]}}, 0)
		}
	}
	if w.rnd.IntN(3) > 0 || w.batch.Empty() {
		w.batch.PutMeta(queue.Meta{NextBatch: uint64(len(w.states))})
	}
	w.add(w.propose(t, w.batch), now)
}

// files returns a file system on a disk that records some moments.
func (m *logModel) files(disk *vfs.MemFS) vfs.FS {
	m.disk = disk
	return beforeWrites(disk, func(errorfs.Op) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.per > 0 && m.rnd.IntN(m.per) == 0 {
			m.crashLocked()
		}
	})
}

// crashLocked records the content of the disk after a power loss or a kill of the process. A kill
// loses the memtables.
func (m *logModel) crashLocked() {
	at := logMoment{kill: m.rnd.IntN(2) == 0, log: m.log, flushed: m.flushed}
	percent := 100
	if !at.kill {
		percent = []int{0, 50, 90}[m.rnd.IntN(3)]
		at.log.last = m.log.synced + m.rnd.Uint64N(m.log.last-m.log.synced+1)
	}
	at.fs = m.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: m.rnd})
	m.moments = append(m.moments, at)
}

func (m *logModel) intN(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rnd.IntN(n)
}

// entriesOf returns Options.Entries for a log.
func (m *logModel) entriesOf(log *sharedLog) func(from, to uint64, visit func(LogEntry) error) error {
	return func(from, to uint64, visit func(LogEntry) error) error {
		for i := from; i <= to; i++ {
			if i < log.first || i > log.last {
				return fmt.Errorf("entry %d of %d to %d is missing: the log has %d to %d", i, from, to, log.first, log.last)
			}
			if err := visit(m.entries[i-1]); err != nil {
				return err
			}
		}
		return nil
	}
}

func (m *logModel) options(fs vfs.FS) Options {
	return Options{
		FS: fs, Durability: None, Fatal: func(problem string) { panic(problem) }, Replicated: true, MemTableBytes: 16 << 10,
		YoungBytes: int64(2<<10 + m.intN(10<<10)), Entries: m.entriesOf(&m.log),
		SyncLog: func() error {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.log.synced = m.log.last
			return nil
		},
	}
}

// applied requires that a store has exactly the content after the entries up to its position.
func (m *logModel) applied(t *testing.T, s *Store, what string) uint64 {
	n := s.Position().Index
	m.states[n].require(t, s, fmt.Sprintf("%s: entry %d", what, n))
	return n
}

// apply applies some entries, and adds them to the node's log.
func (m *logModel) apply(t *testing.T, s *Store, most int) {
	at := int(s.Position().Index)
	to := min(len(m.entries), at+1+m.intN(most))
	m.mu.Lock()
	m.log.last = max(m.log.last, uint64(to))
	m.mu.Unlock()
	_, err := s.Apply(m.entries[at:to])
	require.NoError(t, err)
}

// cut removes all entries from the log that the store no longer needs.
func (m *logModel) cut(t *testing.T, s *Store) {
	m.mu.Lock()
	at := s.Position().Index
	m.mu.Unlock()
	require.NoError(t, s.Flush())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flushed = max(m.flushed, at)
	m.log.first = max(m.log.first, s.Kept()+1)
	m.log.synced = max(m.log.synced, m.log.first-1)
}

// copied opens a copy of a store without a log, and applies later entries to it.
func (m *logModel) copied(t *testing.T, s *Store, mem *vfs.MemFS) {
	require.NoError(t, mem.RemoveAll("copy"))
	m.mu.Lock()
	per := m.per
	m.per = 0
	m.mu.Unlock()
	require.NoError(t, s.Checkpoint("copy"))
	viewer, err := Open("copy", Options{FS: mem, Durability: Sync, ReadOnly: true})
	require.NoError(t, err)
	require.Equal(t, s.Position().Index, m.applied(t, viewer, "a copy, for reading"))
	require.NoError(t, viewer.Close())
	other, err := Open("copy", Options{FS: mem, Durability: None, Replicated: true})
	require.NoError(t, err)
	require.Equal(t, s.Position().Index, m.applied(t, other, "a copy"))
	_, err = other.Apply(m.entries[other.Position().Index:min(len(m.entries), int(other.Position().Index)+20)])
	require.NoError(t, err)
	m.applied(t, other, "a copy, later")
	require.NoError(t, other.Close())
	m.mu.Lock()
	m.per = per
	m.mu.Unlock()
}

// recover opens the content of a disk at a moment and applies later entries. It crashes again
// during that.
func (m *logModel) recover(t *testing.T, at logMoment, what string, crashes int) {
	again := &logModel{rnd: rand.New(rand.NewPCG(uint64(m.intN(1<<30)), 17)), entries: m.entries, states: m.states, log: at.log, flushed: at.flushed}
	if crashes > 0 {
		again.per = 15
	}
	s, err := Open("shard", again.options(again.files(at.fs)))
	require.NoError(t, err, what)
	n := again.applied(t, s, what)
	require.GreaterOrEqual(t, n, at.flushed, what)
	require.LessOrEqual(t, n, at.log.last, what)
	if len(m.entries) > int(n) {
		for range 4 {
			again.apply(t, s, 8)
			again.applied(t, s, what+", later")
		}
		require.NoError(t, s.StoreYoung(s.Position().Index-uint64(again.intN(4))))
		again.cut(t, s)
		again.apply(t, s, 8)
	}
	n = again.applied(t, s, what+", to be closed")
	require.NoError(t, s.Close(), what)
	s, err = Open("shard", Options{FS: at.fs, Durability: None, Replicated: true}) // no log
	require.NoError(t, err, what)
	require.Equal(t, n, again.applied(t, s, what+", closed"))
	require.NoError(t, s.Close(), what)
	for i, one := range again.moments {
		m.recover(t, one, fmt.Sprintf("%s, then moment %d of %d (kill %v)", what, i, len(again.moments), one.kill), crashes-1)
	}
}

// TestYoungRecordsOfAReplicatedStoreSurviveCrashes applies a log with small memtables and bounds,
// and cuts the log up to the entries that the store needs. It crashes at random moments, including
// while records are stored, while a copy is made, while the store is opened and closed, and again
// during recovery. A power loss removes the end of the log, unless the store requested its fsync.
// The disk must then have exactly the content after the entries up to its position.
func TestYoungRecordsOfAReplicatedStoreSurviveCrashes(t *testing.T) {
	seeds := uint64(3)
	if longtest.Asked(t) {
		seeds = 400
	}
	moments, replayed, stored := 0, 0, uint64(0)
	// The number of file operations, and so of crashes, depends on how Pebble's goroutines run.
	enough := func() bool {
		return moments > 10*int(seeds) && replayed > 3*int(seeds) && stored > 20*seeds
	}
	for seed := uint64(0); seed < seeds || !enough(); seed++ {
		require.Less(t, seed, 10*seeds, "too few crashes: %d moments, %d with records in the log only, %d records stored", moments, replayed, stored)
		m := newLogModel(t, seed, 900)
		mem := vfs.NewCrashableMem()
		m.log.first = 1
		fs := m.files(mem)
		m.per = 60
		for range 4 {
			s, err := Open("shard", m.options(fs))
			require.NoError(t, err)
			m.applied(t, s, "opened")
			for range 20 + m.intN(40) {
				m.apply(t, s, 10)
				switch m.intN(25) {
				case 0:
					m.mu.Lock()
					m.crashLocked()
					m.mu.Unlock()
				case 1, 2:
					m.cut(t, s)
				case 3, 4:
					require.NoError(t, s.StoreYoung(s.Position().Index-min(s.Position().Index, uint64(m.intN(30)))))
					m.cut(t, s)
				case 5:
					m.copied(t, s, mem)
				case 6:
					m.applied(t, s, "applied")
				}
			}
			stored += s.Young().Stored
			require.LessOrEqual(t, s.Young().Bytes, s.young.bytesMax)
			require.NoError(t, s.Close())
			m.mu.Lock()
			m.flushed = s.Position().Index
			m.mu.Unlock()
		}
		m.mu.Lock()
		m.per = 0
		m.mu.Unlock()
		for i, at := range m.moments {
			if names, err := at.fs.List("shard"); at.flushed == 0 && (err != nil || !strings.Contains(strings.Join(names, " "), "marker.manifest")) {
				continue // the store was not created yet
			}
			if floor, position := floorOf(t, at.fs); floor < position {
				replayed++
			}
			m.recover(t, at, fmt.Sprintf("seed %d, moment %d (kill %v)", seed, i, at.kill), 1)
		}
		moments += len(m.moments)
	}
	t.Logf("in all: %d moments, %d with records in the log only, %d records stored", moments, replayed, stored)
}

// floorOf returns the floor and the position of a store after a crash.
func floorOf(t *testing.T, fs *vfs.MemFS) (floor, position uint64) {
	m := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	s, err := Open("shard", Options{FS: m, Durability: None, Replicated: true, Entries: func(from, to uint64, _ func(LogEntry) error) error {
		floor, position = from-1, to
		return errStop
	}})
	if err == nil {
		require.NoError(t, s.Close())
		return 0, 0
	}
	require.ErrorIs(t, err, errStop)
	return floor, position
}

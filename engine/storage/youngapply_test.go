package storage

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

var errStop = errors.New("stop")

// youngLog is a log of one tenure that a test writes.
type youngLog struct {
	paper   paper
	batch   *Batch
	entries []LogEntry
}

func newYoungLog(s *Store) *youngLog {
	l := &youngLog{}
	tenure := Tenure{Term: 1, ID: 7}
	l.batch = s.NewReplicatedBatch(&l.paper, tenure)
	l.add(tenure.Begin())
	return l
}

func (l *youngLog) add(entry []byte) {
	l.entries = append(l.entries, LogEntry{Index: uint64(len(l.entries) + 1), Term: 1, Data: entry})
}

func (l *youngLog) write(t *testing.T, s *Store, write func(b *Batch)) {
	t.Helper()
	write(l.batch)
	_, err := l.batch.Submit()
	require.NoError(t, err)
	l.add(l.paper.entries[len(l.paper.entries)-1])
	_, err = s.Apply(l.entries[s.Position().Index:])
	require.NoError(t, err)
}

func (l *youngLog) put(t *testing.T, s *Store, seqs ...uint64) {
	t.Helper()
	l.write(t, s, func(b *Batch) {
		for _, seq := range seqs {
			b.PutFresh(queue.Ref{Queue: 1, Seq: seq}, queue.Task{Payload: []byte("payload")})
		}
	})
}

func (l *youngLog) drop(t *testing.T, s *Store, seqs ...uint64) {
	t.Helper()
	l.write(t, s, func(b *Batch) {
		for _, seq := range seqs {
			b.DropTask(queue.Ref{Queue: 1, Seq: seq})
		}
	})
}

func (l *youngLog) read(from, to uint64, visit func(LogEntry) error) error {
	for _, e := range l.entries[from-1 : to] {
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

// killed returns the files of a store whose process was killed after a flush. Tasks 1 and 3 are in
// the log only.
func killed(t *testing.T) (vfs.FS, *youngLog) {
	t.Helper()
	fs := vfs.NewCrashableMem()
	s := openReplicated(t, fs)
	l := newYoungLog(s)
	l.put(t, s, 1, 2, 3)
	l.drop(t, s, 2)
	require.NoError(t, s.Flush())
	left := processKill(fs)
	require.NoError(t, s.Close())
	return left, l
}

// A task of a replicated store that ends soon is neither set in Pebble nor deleted from it. The log
// must retain the entries of the other tasks.
func TestATaskOfAReplicatedStoreThatEndsSoonIsNeverStored(t *testing.T) {
	s := openReplicated(t, vfs.NewMem())
	l := newYoungLog(s)
	l.put(t, s, 1, 2, 3)
	assert.EqualValues(t, 3, s.Young().Records)
	assert.True(t, has(t, s, 2))
	for seq := uint64(1); seq <= 3; seq++ {
		stored, err := inTables(s.db, taskKey(queue.Ref{Queue: 1, Seq: seq}))
		require.NoError(t, err)
		assert.False(t, stored)
	}
	require.NoError(t, s.Flush())
	assert.Zero(t, s.Kept(), "a restart needs the entry that puts the tasks")
	l.drop(t, s, 1, 2, 3)
	assert.Equal(t, Young{Put: 3}, s.Young())
	require.NoError(t, s.Flush())
	assert.EqualValues(t, 3, s.Kept())
	require.NoError(t, s.Close())
}

// A start finds the tasks in the log unchanged. The position has a format that an older server
// rejects.
func TestTasksThatAreInTheLogOnlyAreThereAfterAKill(t *testing.T) {
	fs, l := killed(t)
	s, err := Open("shard", Options{FS: fs, Durability: None, Replicated: true, Entries: l.read})
	require.NoError(t, err)
	assert.Equal(t, []bool{true, false, true}, []bool{has(t, s, 1), has(t, s, 2), has(t, s, 3)})
	assert.EqualValues(t, 2, s.Young().Records)
	assert.Zero(t, s.Kept())
	v, found, err := get(s.live(), []byte{record.PrefixPosition})
	require.NoError(t, err)
	require.True(t, found)
	assert.Len(t, v, 65)
	assert.EqualValues(t, 4, v[0])
	require.NoError(t, s.StoreYoung(2))
	v, _, err = get(s.live(), []byte{record.PrefixPosition})
	require.NoError(t, err)
	assert.Len(t, v, 33, "an older server can read a store whose records are all in tables")
	assert.EqualValues(t, record.Format, v[0])
	assert.Zero(t, s.Kept(), "the records are not on the disk yet")
	require.NoError(t, s.Flush())
	assert.EqualValues(t, 3, s.Kept())
	require.NoError(t, s.Close())
}

// A start rejects a log that differs from the applied one, or that is incomplete.
func TestALogThatIsNotTheStoresIsRefused(t *testing.T) {
	for what, c := range map[string]struct {
		change func(l *youngLog)
		says   string
	}{
		"the reader fails":           {func(l *youngLog) { l.entries = nil }, "stop"},
		"an entry is of another log": {func(l *youngLog) { l.entries[2].Term = 2 }, "the log is not the one that was applied"},
		"an entry is damaged":        {func(l *youngLog) { l.entries[1].Data = l.entries[1].Data[:3] }, "log entry 2: it has 3 bytes"},
		"an entry lacks its end":     {func(l *youngLog) { l.entries[1].Data = l.entries[1].Data[:60] }, "log entry 2: "},
	} {
		fs, l := killed(t)
		c.change(l)
		_, err := Open("shard", Options{FS: fs, Durability: None, Replicated: true, Entries: func(from, to uint64, visit func(LogEntry) error) error {
			if l.entries == nil {
				return errStop
			}
			return l.read(from, to, visit)
		}})
		require.ErrorContains(t, err, c.says, what)
	}
	for _, readOnly := range []bool{false, true} { // by a single server, and by a read-only store
		fs, _ := killed(t)
		_, err := Open("shard", Options{FS: fs, Durability: Sync, ReadOnly: readOnly})
		require.ErrorContains(t, err, "tasks and leases of the log entries 1 to 3 are in the node's Raft log only: start the node and stop it cleanly")
	}
}

// A lease that a start finds in tables must stay there when an entry replaces it. Otherwise its end
// would leave the old lease in the tables.
func TestAReplacedLeaseIsNotYoung(t *testing.T) {
	fs := vfs.NewMem()
	s := openReplicated(t, fs)
	l := newYoungLog(s)
	lease := func(b *Batch, id uint64, attempt uint32) {
		b.ReplaceLease(id, []queue.LeaseRef{{Ref: queue.Ref{Queue: 1, Seq: id}, Attempt: attempt}}, 0)
	}
	l.write(t, s, func(b *Batch) { lease(b, 1, 1); lease(b, 2, 1) })
	l.write(t, s, func(b *Batch) { lease(b, 1, 2) })
	assert.EqualValues(t, 1, s.Young().Records, "lease 1 is stored, since it was replaced")
	require.NoError(t, s.Close())
	s = openReplicated(t, fs)
	l.write(t, s, func(b *Batch) { lease(b, 2, 2) })
	assert.Zero(t, s.Young().Records)
	l.write(t, s, func(b *Batch) { b.DropLease(1); b.DropLease(2) })
	from, err := s.Recover()
	require.NoError(t, err)
	assert.Empty(t, from.Leases)
	require.NoError(t, s.Close())
}

// The log reaches the disk before tables with its effects do.
func TestTheLogIsOnTheDiskBeforeTheTables(t *testing.T) {
	synced := 0
	s, err := Open("shard", Options{FS: vfs.NewMem(), Durability: None, Replicated: true, SyncLog: func() error { synced++; return nil }})
	require.NoError(t, err)
	l := newYoungLog(s)
	l.put(t, s, 1, 2, 3)
	before := synced
	require.NoError(t, s.Flush())
	assert.Greater(t, synced, before)
	before = synced
	require.NoError(t, s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false))
	assert.Positive(t, s.db.Metrics().Levels[6].TablesCount)
	assert.Equal(t, before, synced, "a compaction does not depend on the log")
	require.NoError(t, s.Close())
}

// A single server that was killed has tasks in Pebble's log only. They still exist when its store
// becomes replicated.
func TestAStoreOfASingleServerThatWasKilledIsReplicated(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Options{})
	putFresh(t, s, 1, 2, 3)
	left := processKill(fs)
	closeStore(t, s)
	s = openReplicated(t, left)
	assert.True(t, has(t, s, 2))
	assert.Zero(t, s.Young().Records)
	require.NoError(t, s.Close())

	lost := processKill(runningSingle(t))
	require.NoError(t, lost.Remove("shard/"+youngName))
	_, err := Open("shard", Options{FS: lost, Durability: None, Replicated: true})
	require.ErrorContains(t, err, youngName+" is damaged: it is missing: restore a backup")
}

// runningSingle returns the files of a running single server with a task in Pebble's log only.
func runningSingle(t *testing.T) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Options{})
	putFresh(t, s, 1)
	require.NoError(t, s.Flush())
	t.Cleanup(func() { closeStore(t, s) })
	return fs
}

// An entry that exceeds the memory bound on its own is stored, and so are all entries while a copy
// is made.
func TestEntriesWithoutRoomAreStored(t *testing.T) {
	s, err := Open("shard", Options{FS: vfs.NewMem(), Durability: None, Replicated: true, YoungBytes: 1 << 10})
	require.NoError(t, err)
	l := newYoungLog(s)
	seq := uint64(0)
	put := func(n int) {
		l.write(t, s, func(b *Batch) {
			for range n {
				seq++
				b.PutFresh(queue.Ref{Queue: 1, Seq: seq}, queue.Task{Payload: []byte("payload")})
			}
		})
	}
	put(3)
	assert.EqualValues(t, 3, s.Young().Records)
	put(100)
	assert.Zero(t, s.Young().Records)
	put(4)
	release, err := s.storeYoung()
	require.NoError(t, err)
	put(5)
	assert.Zero(t, s.Young().Records)
	release()
	put(6)
	assert.EqualValues(t, 6, s.Young().Records)
	for i := uint64(1); i <= seq; i++ {
		require.True(t, has(t, s, i))
	}
	require.NoError(t, s.Close())
}

// A replay that starts before the original of a replaced task finds the replacement in the tables.
func TestAReplacedTaskIsNotYoung(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openReplicated(t, fs)
	l := newYoungLog(s)
	ref := queue.Ref{Queue: 1, Seq: 1}
	l.put(t, s, 1)
	l.write(t, s, func(b *Batch) { // retains the log, and so many lanes that StoreYoung forgets the first one
		for id := range uint32(2_000) {
			b.PutFresh(queue.Ref{Queue: 2 + id, Seq: 2}, queue.Task{})
		}
	})
	require.NoError(t, s.StoreYoung(2))
	l.write(t, s, func(b *Batch) { b.ReplaceTask(ref, queue.Task{Payload: []byte("replacement")}) })
	require.NoError(t, s.Flush())
	left := processKill(fs)
	require.NoError(t, s.Close())
	s, err := Open("shard", Options{FS: left, Durability: None, Replicated: true, Entries: l.read})
	require.NoError(t, err)
	task, found, err := s.Task(ref)
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, "replacement", string(task.Payload))
	require.NoError(t, s.Close())
}

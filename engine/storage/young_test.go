package storage

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/fields"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/disk"
	"github.com/pronybench/prony/engine/storage/record"
)

func putFresh(t *testing.T, s *Store, seqs ...uint64) {
	t.Helper()
	commit(t, s, func(b *Batch) {
		for _, seq := range seqs {
			b.PutFresh(seqRef(seq), queue.Task{Payload: []byte(strings.Repeat("payload ", 10))})
		}
		b.PutQueue(&queue.Record{ID: 1, Tenant: "t", Name: "q", NextSeq: seqs[len(seqs)-1] + 1})
	})
}

func dropTasks(t *testing.T, s *Store, seqs ...uint64) {
	t.Helper()
	commit(t, s, func(b *Batch) {
		for _, seq := range seqs {
			b.DropTask(seqRef(seq))
		}
	})
}

// A task that ends before its log is due for removal is neither set in Pebble nor deleted from it.
func TestATaskThatEndsSoonIsNeverStored(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	putFresh(t, s, 1, 2, 3)
	before := s.Counters()
	assert.Equal(t, Young{Records: 3, Bytes: s.Young().Bytes, Put: 3}, s.Young())
	assert.Positive(t, s.Young().Bytes)
	dropTasks(t, s, 1, 2, 3)
	assert.Equal(t, Young{Put: 3}, s.Young())
	after := s.Counters()
	assert.Equal(t, before.Sets, after.Sets)
	assert.Zero(t, after.Deletes)
	closeStore(t, s)
}

// Tasks that outlive their log are stored by later commits, and the log is removed.
func TestTasksThatOutliveTheirLogAreStored(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{YoungLogBytes: 1 << 10})
	putFresh(t, s, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) // more than a log
	require.Eventually(t, func() bool { return s.PebbleMetrics().Flushes == 1 }, waitMost, waitStep)
	dropTasks(t, s, 1)
	young := s.Young()
	assert.Equal(t, uint64(11), young.Stored)
	assert.Zero(t, young.Records)
	assert.Equal(t, uint64(1), young.Retirements)
	for seq := uint64(13); seq < 60; seq += 3 { // later logs begin
		putFresh(t, s, seq, seq+1, seq+2)
	}
	require.Eventually(t, func() bool { return s.Young().LogsKept <= 2 }, waitMost, waitStep)
	dropTasks(t, s, 2)
	closeStore(t, s)
	there := present(t, fs, 60)
	for seq := range uint64(60) {
		assert.Equal(t, seq > 2, there[seq], "task %d", seq)
	}
}

// A log that Pebble begins because a memtable is full counts: the store does not request another
// one soon after.
func TestTheStoreBeginsALogOnlyIfPebbleDidNot(t *testing.T) {
	begun := func(logBytes int64) uint64 {
		s := open(t, vfs.NewMem(), Options{Durability: None, MemTableBytes: 64 << 10, YoungLogBytes: logBytes})
		defer closeStore(t, s)
		for seq := range uint64(400) {
			putSeq(t, s, seq)
		}
		return s.files.Logs().Begun()
	}
	require.Equal(t, begun(1<<40), begun(64<<10), "a memtable is full after fewer bytes")
	require.Greater(t, begun(8<<10), begun(1<<40))
}

// To make room, the oldest records are stored, and new ones are still in the log only.
func TestTheOldestRecordsMakeRoom(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{YoungBytes: 2 << 10})
	for seq := uint64(1); seq < 100; seq++ {
		putFresh(t, s, seq)
		assert.LessOrEqual(t, s.Young().Bytes, int64(2<<10))
		_, stored := s.young.Get(taskKey(seqRef(seq)))
		assert.True(t, stored, "task %d", seq)
	}
	assert.Positive(t, s.Young().Stored)
	closeStore(t, s)
}

// A second process that opens a store must not touch its young records: it would record that the
// logs were read.
func TestAStoreInUseIsNotRecovered(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Options{})
	putFresh(t, s, 1, 2, 3)
	was := bytesOf(t, fs, "shard/"+youngName)
	for _, readOnly := range []bool{false, true} {
		_, err := Open("shard", Options{FS: fs, Durability: Sync, ReadOnly: readOnly})
		require.ErrorContains(t, err, "another server holds its lock")
	}
	require.Equal(t, was, bytesOf(t, fs, "shard/"+youngName))
	putFresh(t, s, 4)
	require.Equal(t, uint64(4), count(present(t, processKill(fs), 5)))
	closeStore(t, s)
}

// keptStore returns the files of a store whose process was killed while only a closed log had some
// of the young records.
func keptStore(t *testing.T) (killed *vfs.MemFS, logs []string, content string) {
	t.Helper()
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Options{YoungLogBytes: 1 << 10})
	putFresh(t, s, 1, 2, 3, 4)
	dropTasks(t, s, 2)
	putFresh(t, s, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)
	require.Eventually(t, func() bool { return s.PebbleMetrics().Flushes == 1 }, waitMost, waitStep)
	require.EqualValues(t, 19, s.Young().Records)
	content, err := dump(s)
	require.NoError(t, err)
	killed = cloned(fs)
	closeStore(t, s)
	logs = logsOf(t, killed)
	require.Len(t, logs, 2)
	got, err := readAll(cloned(killed))
	require.NoError(t, err)
	require.Equal(t, content, got)
	return killed, logs, content
}

// Damage of a retained log or of the file YOUNG is an error that names the file, like damage of
// Pebble's files.
func TestDamageOfAKeptLogIsFoundAndNamed(t *testing.T) {
	killed, logs, content := keptStore(t)
	for _, name := range []string{logs[0], youngName} {
		path := killed.PathJoin("shard", name)
		size := len(bytesOf(t, killed, path))
		found := 0
		for at := range size {
			got, err := readAll(damaged(t, killed, path, at*8+at%8))
			if err == nil {
				require.Equal(t, content, got, "byte %d of %s", at, name)
				continue
			}
			found++
			require.ErrorContains(t, err, name)
			require.ErrorContains(t, err, "restore a backup")
		}
		// The last chunk is a mark; most of its bytes do not matter.
		require.Greater(t, found, size-20, name)
	}
}

// A retained log that lost its end is damaged, even if the rest of it is whole.
func TestAKeptLogThatIsCutIsDamaged(t *testing.T) {
	killed, logs, content := keptStore(t)
	path := killed.PathJoin("shard", logs[0])
	all := bytesOf(t, killed, path)
	for n := range all {
		copied := cloned(killed)
		f, err := copied.Create(path, vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		_, err = f.Write(slices.Clone(all[:n])) // a MemFS of a race build overwrites its argument
		require.NoError(t, errors.Join(err, f.Sync(), f.Close()))
		got, err := readAll(copied)
		if err == nil {
			require.Equal(t, content, got, "cut to %d bytes", n)
			require.Greater(t, n, len(all)-40_000, "cut to %d bytes", n)
			continue
		}
		require.ErrorContains(t, err, logs[0], "cut to %d bytes", n)
	}
}

// The newest log may lose its end, as in a crash.
func TestATornEndOfTheNewestLogIsCut(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Options{Durability: None})
	putFresh(t, s, 1, 2)
	putFresh(t, s, 3, 4)
	killed := cloned(fs)
	closeStore(t, s)
	logs := logsOf(t, killed)
	log := killed.PathJoin("shard", logs[len(logs)-1])
	all := bytesOf(t, killed, log)
	seen := map[uint64]bool{}
	for n := range len(all) + 1 {
		copied := cloned(killed)
		f, err := copied.Create(log, vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		_, err = f.Write(slices.Clone(all[:n])) // a MemFS of a race build overwrites its argument
		require.NoError(t, errors.Join(err, f.Sync(), f.Close()))
		if n%2 == 0 { // a later log begins after the torn one
			s := open(t, copied, Options{Durability: None})
			putFresh(t, s, 100)
			copied = cloned(copied)
			closeStore(t, s)
		}
		seen[count(present(t, copied, 5))] = true
	}
	require.Equal(t, map[uint64]bool{0: true, 2: true, 4: true}, seen)
}

func TestAMissingFileOfYoungRecordsIsFound(t *testing.T) {
	killed, _, _ := keptStore(t)
	require.NoError(t, killed.Remove("shard/"+youngName))
	for range 2 {
		_, err := readAll(killed)
		require.ErrorContains(t, err, "the file shard/YOUNG is damaged: it is missing: restore a backup")
	}
}

// olderStore opens a Pebble database like a program without young records.
func olderStore(t *testing.T, fs vfs.FS) *pebble.DB {
	t.Helper()
	files, err := disk.Guard(fs, "shard", disk.Sync, 0, disk.NewLog(nil, nil))
	require.NoError(t, err)
	db, err := disk.Open("shard", &pebble.Options{FS: files, FormatMajorVersion: pebble.FormatColumnarBlocks, Levels: tableFilter.levels(), Logger: disk.NewLog(nil, nil)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(db.Close(), files.Close())) })
	return db
}

// A store of an older program opens, even if that program was killed twice, so that a log that is
// no longer needed may have a torn end.
func TestAStoreOfAnOlderProgramOpens(t *testing.T) {
	fs := vfs.NewCrashableMem()
	require.NoError(t, fs.MkdirAll("shard", 0o700))
	set := func(db *pebble.DB, seq uint64) {
		var e record.Encoder
		record.EncodeTask(&e, queue.Task{Payload: []byte("old")})
		require.NoError(t, db.Set(record.RefKey(record.PrefixTask, seqRef(seq)), e.Bytes(), pebble.Sync))
		record.EncodeQueue(&e, &queue.Record{ID: 1, Tenant: "t", Name: "q", NextSeq: seq + 1})
		require.NoError(t, db.Set(record.QueueKey(1), e.Bytes(), pebble.Sync))
	}
	set(olderStore(t, fs), 1)
	killed := cloned(fs)
	torn := logsOf(t, killed)[0]
	all := bytesOf(t, killed, "shard/"+torn)
	f, err := killed.Create("shard/"+torn, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(append(slices.Clone(all), 1, 2, 3))
	require.NoError(t, errors.Join(err, f.Sync(), f.Close()))
	set(olderStore(t, killed), 2)
	again := cloned(killed)
	if len(logsOf(t, again)) == 1 { // Pebble already removed it
		f, err := again.Create("shard/"+torn, vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		_, err = f.Write(append(slices.Clone(all), 1, 2, 3))
		require.NoError(t, errors.Join(err, f.Sync(), f.Close()))
	}
	require.Equal(t, []bool{false, true, true}, present(t, cloned(again), 3))

	// The older program rejects the store once it may have young records.
	s := open(t, again, Options{})
	putFresh(t, s, 3)
	v, found, err := s.get(record.QueueKey(1))
	require.NoError(t, err)
	require.True(t, found)
	require.ErrorContains(t, fields.NewSince(v, 2, 3).Err, "record has format 4, this server reads formats 2 to 3: use the server that wrote it, or a newer one")
	closeStore(t, s)
	require.Equal(t, []bool{false, true, true, true}, present(t, again, 4))
}

func logsOf(t *testing.T, fs vfs.FS) (out []string) {
	t.Helper()
	names, err := fs.List("shard")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, walSuffix) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// All nodes must agree on the records of a replicated store, so these keep the format that all
// nodes can read.
func TestRecordsOfAReplicatedStoreHaveTheFormatBefore(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{Replicated: true})
	defer closeStore(t, s)
	b := s.NewReplicatedBatch(nil, Tenure{})
	b.PutQueue(&queue.Record{ID: 1})
	require.Equal(t, byte(record.Format), b.enc.Bytes()[0])
	require.Zero(t, s.Young())
}

// A read-only store and a snapshot include young records.
func TestYoungRecordsAreInSnapshots(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Options{})
	defer closeStore(t, s)
	putFresh(t, s, 1, 2, 3)
	snap := s.Snapshot()
	dropTasks(t, s, 1, 2)
	n := 0
	require.NoError(t, snap.Scan([]byte{record.PrefixTask}, func(_, _ []byte) (bool, error) {
		n++
		return true, nil
	}))
	require.NoError(t, snap.Close())
	require.Equal(t, 3, n)
	killed := cloned(fs)
	viewer, err := Open("shard", Options{FS: killed, Durability: Sync, ReadOnly: true})
	require.NoError(t, err)
	_, found, err := viewer.Task(seqRef(3))
	require.NoError(t, err)
	require.True(t, found)
	_, found, err = viewer.Task(seqRef(1))
	require.NoError(t, err)
	require.False(t, found)
	require.NoError(t, viewer.Close())
}

// Reclaim stores young records and removes their logs if there is room for that.
func TestReclaimStoresYoungRecordsIfThereIsRoom(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	defer closeStore(t, s)
	putFresh(t, s, 1, 2, 3)
	require.NoError(t, s.Reclaim(context.Background(), 10))
	require.EqualValues(t, 3, s.Young().Records, "no room")
	require.NoError(t, s.Reclaim(context.Background(), 1<<30))
	require.Zero(t, s.Young().Records)
}

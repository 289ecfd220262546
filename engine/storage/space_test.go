package storage

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/quotafstest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/disk"
)

const mib = 1 << 20

// quotaStore is a store on a file system of 200 MiB, with a memtable of 4 MiB.
func quotaStore(t *testing.T, replicated bool) (*quotafstest.FS, *disk.Space, *Store) {
	t.Helper()
	fs := quotafstest.New(vfs.NewMem(), 200*mib)
	space := disk.WatchSpace(disk.SpaceOptions{FS: fs, Dir: ".", Low: disk.Mark{Set: true, Bytes: 40 * mib}, Critical: disk.Mark{Set: true, Bytes: 10 * mib}})
	s, err := Open("store", Options{FS: fs, Durability: Sync, MemTableBytes: 4 * mib, Space: space, Replicated: replicated})
	require.NoError(t, err)
	t.Cleanup(func() {
		space.Close()
		require.NoError(t, s.Close())
	})
	return fs, space, s
}

// put stores tasks of 64 KiB that are hard to compress, and drops those before dropTo.
func put(t *testing.T, s *Store, from, to, dropTo uint64) {
	t.Helper()
	b := s.NewBatch()
	for seq := from; seq < to; seq++ {
		payload := make([]byte, 64<<10)
		for i, x := 0, seq*2654435761+1; i < len(payload); i++ {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			payload[i] = byte(x)
		}
		b.PutTask(seqRef(seq), queue.Task{Payload: payload})
	}
	for seq := range dropTo {
		b.DropTask(seqRef(seq))
	}
	c, err := b.Submit()
	require.NoError(t, err)
	require.NoError(t, c.Wait())
}

// putWithDeletions stores n tasks, compacts them, and drops those before gone. The deletions are in
// one table, which Pebble does not compact in the background, because they are too few.
func putWithDeletions(t *testing.T, s *Store, n, gone uint64) {
	t.Helper()
	for seq := uint64(0); seq < n; seq += 16 {
		put(t, s, seq, seq+16, 0)
	}
	require.NoError(t, s.Flush())
	require.NoError(t, s.db.Compact(t.Context(), []byte{0}, []byte{255}, false))
	put(t, s, n, n+1, gone)
	require.NoError(t, s.Flush())
	require.Equal(t, 1, tablesWithDeletions(t, s))
}

func TestReclaimGivesBackWhatWasDeleted(t *testing.T) {
	fs, _, s := quotaStore(t, false)
	const n, gone = 800, 100 // 50 MiB in total, of which 6 MiB are dropped
	putWithDeletions(t, s, n, gone)
	before := fs.Used()
	require.NoError(t, s.Reclaim(t.Context(), 100*mib))
	require.Zero(t, tablesWithDeletions(t, s))
	// Files are removed in the background.
	require.Eventually(t, func() bool { return fs.Used()+5*mib < before }, waitMost, time.Millisecond)
	for seq := uint64(0); seq <= n; seq++ {
		_, found, err := s.Task(seqRef(seq))
		require.NoError(t, err)
		require.Equal(t, seq >= gone, found, "%d", seq)
	}
}

func tablesWithDeletions(t *testing.T, s *Store) (n int) {
	t.Helper()
	levels, err := s.db.SSTables(pebble.WithProperties())
	require.NoError(t, err)
	for _, level := range levels {
		for i := range level {
			if level[i].Properties.NumDeletions > 0 {
				n++
			}
		}
	}
	return n
}

// A compaction that needs more than the available room would fill the disk.
func TestReclaimNeedsRoom(t *testing.T) {
	_, _, s := quotaStore(t, false)
	putWithDeletions(t, s, 800, 100)
	skipped := map[uint64]bool{}
	more, err := s.compactDeletions(t.Context(), 1<<10, skipped)
	require.NoError(t, err)
	require.False(t, more)
	require.NotEmpty(t, skipped)
}

// Without room a flush would use up the ballast, which the next start needs.
func TestReclaimOnAFullDiskWritesNothing(t *testing.T) {
	fs, _, s := quotaStore(t, false)
	put(t, s, 0, 16, 0)
	unflushed := s.Unflushed()
	require.Greater(t, unflushed, uint64(mib))
	fs.LeaveFree(0)
	// A flush would wait for room that long.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, s.Reclaim(ctx, 0))
	require.Zero(t, fs.Refused(), "no write was refused for lack of space")
	require.Equal(t, unflushed, s.Unflushed())
	fs.LeaveFree(100 * mib)
	require.NoError(t, s.Reclaim(t.Context(), 100*mib), "after room was freed")
	require.Zero(t, s.Unflushed())
}

// If all memtables of a store were full when the server was killed, the store opens on a full disk
// with the room of the ballast.
func TestAStoreOpensOnAFullDiskWithFullMemtables(t *testing.T) {
	const memtable, ballast = 4 * mib, 4*4*mib + 8*mib
	var held atomic.Bool
	letGo := make(chan struct{})
	mem := vfs.NewCrashableMem()
	s, err := Open("store", Options{Durability: Sync, MemTableBytes: memtable, FS: errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") && held.Load() {
			<-letGo
		}
		return nil
	}))})
	require.NoError(t, err)
	defer func() {
		close(letGo)
		require.NoError(t, s.Close())
	}()
	seq := uint64(0)
	next := func() {
		put(t, s, seq, seq+4, 0)
		seq += 4
	}
	for seq < 400 { // memtables grow to their maximum size
		next()
	}
	require.NoError(t, s.Flush())
	held.Store(true)
	for s.db.Metrics().MemTable.Count < 4 {
		next()
	}
	require.Greater(t, s.Unflushed(), uint64(3*memtable))

	fs := quotafstest.New(processKill(mem), 400*mib)
	o := disk.SpaceOptions{FS: fs, Dir: ".", Low: disk.Mark{Set: true, Bytes: 80 * mib}, Critical: disk.Mark{Set: true, Bytes: 40 * mib}, Ballast: ballast}
	disk.WatchSpace(o).Close()
	require.EqualValues(t, ballast, fs.Used())
	fs.LeaveFree(0)
	space := disk.WatchSpace(o)
	defer space.Close()
	space.BoundWaits(time.Millisecond) // a write that finds no room fails instead of waiting
	again, err := Open("store", Options{Durability: Sync, MemTableBytes: memtable, FS: fs, Space: space, Fatal: func(problem string) { t.Error(problem) }})
	require.NoError(t, err)
	for at := range seq {
		_, found, err := again.Task(seqRef(at))
		require.NoError(t, err)
		require.True(t, found, "%d", at)
	}
	require.NoError(t, again.Close())
}

func TestUnflushedIsWhatIsInMemoryOnly(t *testing.T) {
	_, space, s := quotaStore(t, false)
	require.Less(t, s.Unflushed(), uint64(64<<10))
	put(t, s, 0, 16, 0)
	require.Greater(t, s.Unflushed(), uint64(mib))
	require.Eventually(t, func() bool { u := space.Usage(); return u.Available+mib < u.Free }, waitMost, time.Millisecond)
	require.NoError(t, s.Flush())
	require.Zero(t, s.Unflushed())
}

// A store that finds the disk full waits for room, without acknowledging anything, and then
// continues.
func TestACommitToAFullDiskWaits(t *testing.T) {
	for _, d := range []Durability{Sync, Interval, None} {
		t.Run(string(d), func(t *testing.T) { commitToAFullDisk(t, d, func(fs *quotafstest.FS) { fs.LeaveFree(0) }) })
		t.Run(string(d)+", a disk quota", func(t *testing.T) { commitToAFullDisk(t, d, func(fs *quotafstest.FS) { fs.Limit(fs.Used()) }) })
	}
}

// commitToAFullDisk commits after fill has used up the disk.
func commitToAFullDisk(t *testing.T, d Durability, fill func(*quotafstest.FS)) {
	t.Helper()
	fs := quotafstest.New(vfs.NewMem(), 100*mib)
	space := disk.WatchSpace(disk.SpaceOptions{FS: fs, Dir: ".", Low: disk.Mark{Set: true, Bytes: 0}})
	s, err := Open("store", Options{FS: fs, Durability: d, SyncInterval: time.Millisecond, Space: space, MemTableBytes: mib, Fatal: func(problem string) { t.Error(problem) }})
	require.NoError(t, err)
	put(t, s, 0, 1, 0)
	fill(fs)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for seq := uint64(1); seq < 50; seq++ {
			put(t, s, seq, seq+1, 0)
		}
	}()
	require.Eventually(t, func() bool { return fs.Refused() > 0 && space.Changes() != nil }, waitMost, time.Millisecond)
	require.ErrorContains(t, space.Changes(), "the file system of the data folder is full")
	select {
	case <-done:
		t.Fatal("a commit was acknowledged on a full disk")
	default:
	}
	fs.Occupy(0)
	fs.Limit(0)
	<-done
	require.Eventually(t, func() bool { return space.Changes() == nil }, waitMost, time.Millisecond)
	for seq := range uint64(50) {
		_, found, err := s.Task(seqRef(seq))
		require.NoError(t, err)
		require.True(t, found)
	}
	require.NoError(t, s.Close())
	space.Close()
}

// The store of a replicated shard has no log. Its data reaches the disk when a memtable is flushed.
func TestReplicatedStoresCountWhatTheyHold(t *testing.T) {
	_, _, s := quotaStore(t, true)
	tenure := Tenure{Term: 1, ID: 1}
	_, err := s.Apply([]LogEntry{{Index: 1, Term: 1, Data: tenure.Begin()}})
	require.NoError(t, err)
	b := s.NewBatch()
	b.PutTask(seqRef(1), queue.Task{Payload: make([]byte, mib)})
	entry := entryHead{term: 1, tenure: 1, seq: 1}.append(b.b.Repr())
	_, err = s.Apply([]LogEntry{{Index: 2, Term: 1, Data: entry}})
	require.NoError(t, err)
	require.GreaterOrEqual(t, s.Unflushed(), uint64(mib))
	require.NoError(t, s.Reclaim(context.Background(), 100*mib))
	require.Zero(t, s.Unflushed())
	require.NoError(t, b.b.Close())
}

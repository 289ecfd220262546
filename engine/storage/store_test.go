package storage

import (
	"math"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// open opens the store "shard" on a file system. The test must close it.
func open(t *testing.T, fs vfs.FS, o Options) *Store {
	t.Helper()
	o.FS = fs
	if o.Durability == "" {
		o.Durability = Sync
	}
	if o.Fatal == nil {
		o.Fatal = func(problem string) { t.Errorf("the store failed: %s", problem) }
	}
	s, err := Open("shard", o)
	require.NoError(t, err)
	return s
}

func closeStore(t *testing.T, s *Store) {
	t.Helper()
	require.NoError(t, s.Close())
}

func commit(t *testing.T, s *Store, write func(b *Batch)) {
	t.Helper()
	b := s.NewBatch()
	write(b)
	c, err := b.Submit()
	require.NoError(t, err)
	require.NoError(t, c.Wait())
	assert.True(t, b.Empty(), "a submitted batch is empty again")
}

func TestRecordsAreReadBackAndGoAway(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	ref := queue.Ref{Queue: 1, Priority: 2, Seq: 3}
	task := queue.Task{EnqueuedAtMs: 5, MaxAttempts: 4, LeaseMs: 30, Delayed: true, Payload: []byte("p")}
	progress := queue.Progress{DueAtMs: 9, Attempts: 1, MaxAttempts: 4, Token: 4096, ExpiresAtMs: 77}
	dead := queue.Dead{DiedAtMs: 10, Reason: queue.TimeToLiveOver}

	_, found, err := s.Task(ref)
	require.NoError(t, err)
	require.False(t, found)
	commit(t, s, func(b *Batch) {
		b.PutTask(ref, task)
		b.PutProgress(ref, progress)
		b.PutDead(ref, dead)
	})
	gotTask, found, err := s.Task(ref)
	require.NoError(t, err)
	require.True(t, found)
	assert.Equal(t, task, gotTask)
	gotProgress, found, err := s.progressOf(ref)
	require.NoError(t, err)
	require.True(t, found)
	assert.Equal(t, progress, gotProgress)
	gotDead, found, err := s.deadRecord(ref)
	require.NoError(t, err)
	require.True(t, found)
	assert.Equal(t, dead, gotDead)

	commit(t, s, func(b *Batch) {
		b.DropTask(ref)
		b.DropProgress(ref)
	})
	_, found, err = s.Task(ref)
	require.NoError(t, err)
	assert.False(t, found)
	_, found, err = s.progressOf(ref)
	require.NoError(t, err)
	assert.False(t, found)
	assert.Equal(t, uint64(3), s.Counters().Sets)
	assert.Equal(t, uint64(2), s.Counters().Deletes)
	assert.Equal(t, uint64(6), s.Counters().Gets)
	assert.Positive(t, s.Counters().SetBytes)
}

func TestSubmittedBatchIsSeenBeforeItIsDurable(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	b := s.NewBatch()
	b.PutTask(queue.Ref{Seq: 1}, queue.Task{})
	c, err := b.Submit()
	require.NoError(t, err)
	_, found, err := s.Task(queue.Ref{Seq: 1})
	require.NoError(t, err)
	assert.True(t, found)
	require.NoError(t, c.Wait())
}

func TestResetDropsWhatWasNotCommitted(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	b := s.NewBatch()
	assert.True(t, b.Empty())
	b.PutTask(queue.Ref{Seq: 1}, queue.Task{})
	assert.False(t, b.Empty())
	b = s.NewBatch()
	assert.True(t, b.Empty())
	c, err := b.Submit()
	require.NoError(t, err)
	require.NoError(t, c.Wait())
	_, found, err := s.Task(queue.Ref{Seq: 1})
	require.NoError(t, err)
	assert.False(t, found)
}

func seqs[T any](of func(T) uint64, in []T) []uint64 {
	out := make([]uint64, len(in))
	for i := range in {
		out[i] = of(in[i])
	}
	return out
}

func freshSeqs(t *testing.T, s *Store, r queue.Refill) []uint64 {
	t.Helper()
	got, _, err := s.Fresh(r)
	require.NoError(t, err)
	return seqs(func(t queue.SeqTask) uint64 { return t.Seq }, got)
}

func TestFreshRefillGivesTheLanesNextTasks(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	commit(t, s, func(b *Batch) {
		for seq := range uint64(8) {
			b.PutTask(queue.Ref{Queue: 1, Priority: 3, Seq: seq}, queue.Task{Delayed: seq == 4, Payload: []byte{byte(seq)}})
		}
		for _, neighbour := range []queue.Ref{
			{Queue: 1, Priority: 2, Seq: 5}, {Queue: 1, Priority: 4, Seq: 5}, {Queue: 0, Priority: 3, Seq: 5}, {Queue: 2, Priority: 3, Seq: 5},
		} {
			b.PutTask(neighbour, queue.Task{})
		}
	})
	commit(t, s, func(b *Batch) { b.DropTask(queue.Ref{Queue: 1, Priority: 3, Seq: 3}) })

	lane := queue.Refill{Queue: 1, Lane: 3, Limit: 100}
	assert.Equal(t, []uint64{0, 1, 2, 5, 6, 7}, freshSeqs(t, s, lane), "3 is done, 4 is found by its due time")
	lane.FromSeq, lane.Limit = 2, 3
	assert.Equal(t, []uint64{2, 5, 6}, freshSeqs(t, s, lane))
	lane.FromSeq = 8
	assert.Empty(t, freshSeqs(t, s, lane))

	got, _, err := s.Fresh(queue.Refill{Queue: 1, Lane: 3, FromSeq: 6, Limit: 10, PayloadBytesMax: 2})
	require.NoError(t, err)
	assert.Equal(t, []byte{6}, got[0].Task.Payload)
	assert.Equal(t, []byte{7}, got[1].Task.Payload)
}

func TestReturnedRefillGivesTheEarliestFirst(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	put := func(b *Batch, q uint32, seq uint64, dueAtMs int64) {
		b.PutDue(queue.Ref{Queue: q, Seq: seq}, 0, queue.Due{DueAtMs: dueAtMs, Attempts: 1, MaxAttempts: 2, LeaseMs: 3})
	}
	commit(t, s, func(b *Batch) {
		put(b, 1, 9, 10)
		put(b, 1, 1, 20)
		put(b, 1, 2, 20)
		put(b, 1, 3, 5)
		put(b, 1, 4, -5)
		put(b, 2, 5, 1)
	})
	commit(t, s, func(b *Batch) { b.DropDue(queue.Ref{Queue: 1, Seq: 9}, 0, 10) })
	read := func(r queue.Refill) []queue.SeqDue {
		got, _, err := s.Returned(r)
		require.NoError(t, err)
		return got
	}
	all := read(queue.Refill{Queue: 1, Stream: queue.StreamReturned, FromMs: -1 << 63, Limit: 10})
	assert.Equal(t, []uint64{4, 3, 1, 2}, seqs(func(d queue.SeqDue) uint64 { return d.Seq }, all))
	assert.Equal(t, queue.Due{DueAtMs: 20, Attempts: 1, MaxAttempts: 2, LeaseMs: 3}, all[3].Due)
	rest := read(queue.Refill{Queue: 1, Stream: queue.StreamReturned, FromMs: 20, FromSeq: 2, Limit: 10})
	assert.Equal(t, []uint64{2}, seqs(func(d queue.SeqDue) uint64 { return d.Seq }, rest))
	assert.Len(t, read(queue.Refill{Queue: 1, Stream: queue.StreamReturned, FromMs: -1 << 63, Limit: 2}), 2)
}

func TestRecoverVoidsWhatWasSettledSinceTheLeaseWasWritten(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	meta := queue.Meta{NextBatch: 8, NextQueue: 2}
	record := queue.Record{
		ID: 1, Tenant: "t", Name: "q", NextSeq: 9, Lanes: 1 << 2,
		Counts: queue.Counts{Enqueued: 9, Leased: 2}, Cursors: [queue.MaxPriority + 1]uint64{2: 5},
	}
	const batch = 7
	refs := make([]queue.LeaseRef, 6)
	for i := range refs {
		refs[i] = queue.LeaseRef{Ref: queue.Ref{Queue: 1, Priority: 2, Seq: uint64(i)}, Attempt: 1, MaxAttempts: 3, LeaseMs: 5, ExpiresAtMs: 100}
	}
	refs[5].Attempt = 0 // was settled before the record was rewritten
	commit(t, s, func(b *Batch) {
		b.PutMeta(meta)
		b.PutQueue(&record)
		b.PutLease(batch, refs, 0)
		b.PutLease(batch-1, refs, 0)
		for i := range refs {
			if i != 1 { // 1 was completed
				b.PutTask(refs[i].Ref, queue.Task{})
			}
		}
		// Task 2's lease was settled, a later lease of task 3 was, and an earlier one of task 4.
		b.PutProgress(refs[2].Ref, queue.Progress{Token: queue.Token(batch, 2)})
		b.PutProgress(refs[3].Ref, queue.Progress{Token: queue.Token(batch, 3) + 1})
		b.PutProgress(refs[4].Ref, queue.Progress{Token: queue.Token(batch, 4) - 1})
	})
	commit(t, s, func(b *Batch) { b.DropLease(batch - 1) })
	closeStore(t, s)

	s = open(t, fs, Options{})
	defer closeStore(t, s)
	got, err := s.Recover()
	require.NoError(t, err)
	assert.Equal(t, meta, got.Meta)
	assert.Equal(t, []queue.Record{record}, got.Queues)
	require.Len(t, got.Leases, 1)
	assert.Equal(t, uint64(batch), got.Leases[0].Batch)
	for _, i := range []int{1, 2, 3, 5} {
		refs[i].Attempt = 0
	}
	assert.Equal(t, refs, got.Leases[0].Refs)
}

func TestRecoverOfAnEmptyStoreIsEmpty(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	got, err := s.Recover()
	require.NoError(t, err)
	assert.Equal(t, queue.Recovered{NextExpiryMs: math.MaxInt64}, got)
}

// An error about an unreadable record names its kind and its place.
func TestUnreadableRecordsAreNamed(t *testing.T) {
	ref := queue.Ref{Queue: 1, Priority: 2, Seq: 3}
	for name, c := range map[string]struct {
		key  []byte
		read func(s *Store) error
		says string
	}{
		"task": {record.RefKey(record.PrefixTask, ref), func(s *Store) error { _, _, err := s.Task(ref); return err }, "task (queue 1, priority 2, seq 3)"},
		"refilled task": {record.RefKey(record.PrefixTask, ref), func(s *Store) error {
			_, _, err := s.Fresh(queue.Refill{Queue: 1, Lane: 2, Limit: 1})
			return err
		}, "task (queue 1, priority 2, seq 3)"},
		"due": {record.DueKey(ref, 2, 5), func(s *Store) error {
			_, _, err := s.Returned(queue.Refill{Queue: 1, Lane: 2, Limit: 1})
			return err
		}, "due record of task (queue 1, priority 2, seq 3)"},
		"progress": {record.RefKey(record.PrefixProgress, ref), func(s *Store) error { _, _, err := s.progressOf(ref); return err }, "progress of task (queue 1"},
		"dead":     {record.RefKey(record.PrefixDead, ref), func(s *Store) error { _, _, err := s.deadRecord(ref); return err }, "dead task (queue 1"},
		"queue":    {record.QueueKey(7), func(s *Store) error { _, err := s.Recover(); return err }, "queue 7"},
		"meta":     {[]byte{record.PrefixMeta}, func(s *Store) error { _, err := s.Recover(); return err }, "the shard's own record"},
		"lease": {
			[]byte{record.PrefixLease, 0, 0, 0, 0, 0, 0, 1, 1},
			func(s *Store) error { _, err := s.Recover(); return err },
			"lease 0000000000000101",
		},
		"lease key": {[]byte{record.PrefixLease, 1}, func(s *Store) error { _, err := s.Recover(); return err }, "has 2 bytes, expected 9"},
		"queue key": {[]byte{record.PrefixQueue, 1}, func(s *Store) error { _, err := s.Audit(1_000); return err }, "has 2 bytes, expected 5"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, vfs.NewMem(), Options{})
			defer closeStore(t, s)
			require.NoError(t, s.db.Set(c.key, []byte{record.FormatNewest + 1}, nil))
			require.ErrorContains(t, c.read(s), c.says)
		})
	}
}

func TestAuditCountsWhatIsReallyStored(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	commit(t, s, func(b *Batch) {
		b.PutQueue(&queue.Record{ID: 1, Tenant: "t", Name: "a", Counts: queue.Counts{Enqueued: 5, Completed: 1, Fresh: 4}})
		b.PutQueue(&queue.Record{ID: 2, Tenant: "t", Name: "b"})
		b.PutQueue(&queue.Record{ID: 0xffffffff, Tenant: "u", Name: "last"})
		for seq := range uint64(4) {
			b.PutTask(queue.Ref{Queue: 1, Priority: uint8(seq), Seq: seq}, queue.Task{})
		}
		b.PutTask(queue.Ref{Queue: 0xffffffff, Priority: queue.MaxPriority, Seq: 1<<64 - 1}, queue.Task{})
	})
	commit(t, s, func(b *Batch) { b.DropTask(queue.Ref{Queue: 1, Priority: 3, Seq: 3}) })
	got, err := s.Audit(1_000)
	require.NoError(t, err)
	require.Len(t, got, 3)
	assert.Equal(t, "a", got[0].Name)
	assert.Equal(t, uint64(4), got[0].Counts.Fresh, "the stored counters")
	assert.Equal(t, uint64(3), got[0].Stored, "the number of stored tasks")
	assert.Equal(t, uint64(0), got[1].Stored)
	assert.Equal(t, uint64(1), got[2].Stored)
}

func TestOpeningTwiceFails(t *testing.T) {
	for name, o := range map[string]struct {
		dir string
		Options
	}{
		"in memory": {"shard", Options{Durability: Sync, FS: vfs.NewMem()}},
		"on disk":   {t.TempDir(), Options{Durability: Interval}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(o.dir, o.Options)
			require.NoError(t, err)
			defer closeStore(t, s)
			_, err = Open(o.dir, o.Options)
			require.ErrorContains(t, err, "open the store in "+o.dir)
			require.ErrorContains(t, err, "lock")
		})
	}
}

func TestUnknownDurabilityIsRefused(t *testing.T) {
	_, err := Open("shard", Options{FS: vfs.NewMem(), Durability: "often"})
	require.ErrorContains(t, err, `durability "often" is not one of`)
}

// A key that was put but not committed yet is found, because two tasks of one commit may have the
// same key.
func TestKeyIsFoundBeforeItsCommit(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	b := s.NewBatch()
	put := queue.KeyRef{Ref: queue.Ref{Queue: 1, Seq: 2}, ExpiresAtMs: 9}
	b.PutKey(1, "k", 1_000, put)
	for _, c := range []struct {
		queue uint32
		key   string
		found bool
	}{{1, "k", true}, {1, "kk", false}, {2, "k", false}} {
		got, found := b.FindKey(c.queue, c.key, []int64{1_000})
		assert.Equal(t, c.found, found)
		if found {
			assert.Equal(t, put, got)
		}
	}
	b = s.NewBatch()
	_, found := b.FindKey(1, "k", []int64{1_000})
	assert.False(t, found, "the key was not committed")
	b.PutKey(1, "k", 1_000, put)
	c, err := b.Submit()
	require.NoError(t, err)
	require.NoError(t, c.Wait())
	_, found = b.FindKey(1, "k", nil)
	assert.False(t, found, "the key is found only in its bucket")
	_, found = b.FindKey(1, "k", []int64{1_000})
	assert.True(t, found)
}

// An unreadable key fails the commit: the task must not be enqueued twice.
func TestUnreadableKeyFailsTheCommit(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{KeyFilters: NewKeyFilters(0)})
	defer closeStore(t, s)
	require.NoError(t, s.db.Set(record.KeyKey(1_000, 1, "k"), []byte{record.Format, 1}, pebble.Sync))
	b := s.NewBatch()
	_, found := b.FindKey(1, "k", []int64{1_000})
	assert.False(t, found)
	_, err := b.Submit()
	require.ErrorContains(t, err, "idempotency key of queue 1: record is cut short")
}

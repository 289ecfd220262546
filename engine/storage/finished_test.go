package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// Few entries are dropped one by one, and many with a range.
func TestEntriesOfAHistoryAreDropped(t *testing.T) {
	s, err := Open("shard", Options{FS: vfs.NewMem(), Durability: Sync})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	const queues = 5
	commit := func(change func(b *Batch)) {
		t.Helper()
		b := s.NewBatch()
		change(b)
		c, err := b.Submit()
		require.NoError(t, err)
		require.NoError(t, c.Wait())
	}
	commit(func(b *Batch) {
		for id := range uint32(queues) {
			for at := range uint64(60) {
				b.PutFinished(at, &queue.Finished{Ref: queue.Ref{Queue: id, Seq: at}, How: queue.FinishCompleted})
			}
		}
	})
	for _, n := range []uint64{0, 1, finishedDeletesMax, finishedDeletesMax + 1, 40} {
		commit(func(b *Batch) { b.DropFinished(2, 10, 10+n) })
		for id := range uint32(queues) {
			got, _, err := s.ListFinished(id, queue.HistoryRange{Next: 100, AfterMs: -1}, FinishedPage{Limit: 100, LookMax: 100})
			require.NoError(t, err)
			if id != 2 {
				require.Len(t, got, 60)
				continue
			}
			require.Len(t, got, int(60-n))
			assert.EqualValues(t, 10+n, got[49-n].Ref.Seq)
			assert.EqualValues(t, 9, got[50-n].Ref.Seq)
		}
	}
}

// A task of the same commit is found, because a purge may remove it before reads see it.
func TestTheHeadOfATaskOfTheCommitIsFound(t *testing.T) {
	s, err := Open("shard", Options{FS: vfs.NewMem(), Durability: Sync})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	n := queue.NewTask{Payload: []byte("p")}
	n.AddHeaders(map[string]string{"kind": "welcome"})
	b := s.NewBatch()
	b.PutFresh(queue.Ref{Seq: 7}, queue.Task{EnqueuedAtMs: 5, HasHeaders: true, Payload: n.Payload})
	at, headers := b.FindHead(queue.Ref{Seq: 7})
	assert.EqualValues(t, 5, at)
	assert.Equal(t, "welcome", headers.Get("kind"))
	at, headers = b.FindHead(queue.Ref{Seq: 8})
	assert.Zero(t, at)
	assert.Empty(t, headers)
	c, err := b.Submit()
	require.NoError(t, err)
	require.NoError(t, c.Wait())
}

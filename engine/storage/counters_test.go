package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// A scan that finds nothing counts the deleted keys that it stepped over.
func TestScansCountTheDeletedKeysTheyStepOver(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	const n = 500
	commit(t, s, func(b *Batch) {
		for i := range uint64(n) {
			b.PutTask(queue.Ref{Queue: 1, Seq: i}, queue.Task{})
		}
	})
	commit(t, s, func(b *Batch) {
		for i := range uint64(n) {
			b.DropTask(queue.Ref{Queue: 1, Seq: i})
		}
	})
	before := s.Counters().Scanned
	tasks, _, err := s.Fresh(queue.Refill{Stream: queue.StreamFresh, Queue: 1, Limit: 10})
	require.NoError(t, err)
	require.Empty(t, tasks)
	assert.GreaterOrEqual(t, s.Counters().Scanned-before, uint64(n))

	before = s.Counters().Scanned
	_, _, err = s.Fresh(queue.Refill{Stream: queue.StreamFresh, Queue: 1, FromSeq: n, Limit: 10})
	require.NoError(t, err)
	assert.Less(t, s.Counters().Scanned-before, uint64(10), "a scan that starts after the deleted keys steps over none")
}

// Under Sync each awaited commit is an fsync; under None no commit is.
func TestFsyncsAreCounted(t *testing.T) {
	for durability, each := range map[Durability]uint64{Sync: 1, None: 0} {
		s := open(t, vfs.NewMem(), Options{Durability: durability})
		before := s.Counters()
		const n = 20
		for i := range uint64(n) {
			commit(t, s, func(b *Batch) { b.PutTask(queue.Ref{Seq: i}, queue.Task{}) })
		}
		after := s.Counters()
		assert.Equal(t, n*each, after.Fsyncs-before.Fsyncs, durability)
		assert.Equal(t, n*each, after.LogFsyncs-before.LogFsyncs, durability)
		assert.GreaterOrEqual(t, after.FsyncTime, before.FsyncTime)
		closeStore(t, s)
	}
}

// The counter of the log's fsyncs excludes fsyncs of tables.
func TestFsyncsOfTheLogAreCountedApart(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{Durability: None})
	defer closeStore(t, s)
	before := s.Counters()
	commit(t, s, func(b *Batch) { b.PutTask(queue.Ref{Seq: 1}, queue.Task{}) })
	require.NoError(t, s.Flush())
	after := s.Counters()
	assert.Less(t, after.LogFsyncs-before.LogFsyncs, after.Fsyncs-before.Fsyncs, "the flush syncs a table")
}

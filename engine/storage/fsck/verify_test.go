package fsck

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/storagetest"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/record"
)

// newStore creates a store with tasks in a table and in the log, and returns its folder.
func newStore(t *testing.T, more func(b *storage.Batch)) string {
	t.Helper()
	dir := t.TempDir()
	s, err := storage.Open(dir, storage.Options{Durability: storage.Sync})
	require.NoError(t, err)
	storagetest.PutTasks(t, s, 1, 50)
	require.NoError(t, s.Flush())
	storagetest.PutTasks(t, s, 51, 20)
	if more != nil {
		b := s.NewBatch()
		more(b)
		storagetest.Commit(t, b)
	}
	require.NoError(t, s.Close())
	return dir
}

func TestVerifyWritesNothing(t *testing.T) {
	dir := newStore(t, nil)
	before := storagetest.Files(t, dir)
	h, err := Verify(t.Context(), dir)
	require.NoError(t, err)
	assert.Equal(t, Holding{Queues: 1, Tasks: 70}, h)
	assert.Equal(t, before, storagetest.Files(t, dir))
}

func TestVerifyFindsDamage(t *testing.T) {
	dir := newStore(t, nil)
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	require.NoError(t, err)
	require.NotEmpty(t, tables)
	text, err := os.ReadFile(tables[0])
	require.NoError(t, err)
	text[100] ^= 1
	require.NoError(t, os.WriteFile(tables[0], text, 0o600))
	_, err = Verify(t.Context(), dir)
	require.ErrorContains(t, err, "checksum mismatch")
	assert.ErrorContains(t, err, dir)

	// A server that reads the damaged block stops and names the file.
	var first atomic.Pointer[string] // a compaction may read the block, too
	s, err := storage.Open(dir, storage.Options{Durability: storage.Sync, Fatal: func(problem string) { first.CompareAndSwap(nil, &problem) }})
	require.NoError(t, err)
	_, err = s.Audit(1_000)
	require.ErrorContains(t, err, "checksum mismatch")
	require.NotNil(t, first.Load())
	assert.Contains(t, *first.Load(), tables[0]+" is damaged: ")
	require.NoError(t, s.Close())
}

// setRaw sets a key of a closed store directly in Pebble, and removes the seal.
func setRaw(t *testing.T, dir string, key, value []byte) {
	t.Helper()
	require.NoError(t, os.Remove(filepath.Join(dir, "SEAL")))
	db, err := pebble.Open(dir, &pebble.Options{FormatMajorVersion: pebble.FormatColumnarBlocks, Logger: pebble.DefaultLogger})
	require.NoError(t, err)
	require.NoError(t, db.Set(key, value, pebble.Sync))
	require.NoError(t, db.Close())
}

// A record that no server wrote is detected, whatever its kind.
func TestVerifyDecodesEveryRecord(t *testing.T) {
	ref := queue.Ref{Queue: 1, Seq: 7}
	for name, key := range map[string][]byte{
		"task": record.RefKey(record.PrefixTask, ref), "progress": record.RefKey(record.PrefixProgress, ref), "dead": record.RefKey(record.PrefixDead, ref), "note": record.RefKey(record.PrefixNote, ref),
		"attempt": append(record.RefKey(record.PrefixAttempt, ref), 0, 0, 0, 1), "key": []byte("k12345678qqqqk"), "result": []byte("r12345678qqqqp12345678"),
		"finished task": record.FinishedKey(9, 7),
		"waiting":       record.RefKey(record.PrefixWaiting, ref), "dependency": record.PairKey(record.PrefixWaiting, ref, queue.ID{}), "message": record.MessageKey(1, 2),
		"links": record.RefKey(record.PrefixLink, ref), "link": record.PairKey(record.PrefixLink, ref, queue.ID{}),
		"lease": []byte("l12345678"), "queue": record.QueueKey(9), "meta": {record.PrefixMeta},
	} {
		dir := newStore(t, nil)
		setRaw(t, dir, key, []byte{99})
		_, err := Verify(t.Context(), dir)
		assert.ErrorContains(t, err, "has format 99", name)
	}
}

func TestVerifyRefusesAMissingStore(t *testing.T) {
	_, err := Verify(t.Context(), filepath.Join(t.TempDir(), "missing"))
	assert.ErrorContains(t, err, "does not exist")
}

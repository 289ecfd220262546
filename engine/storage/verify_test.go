package storage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// newStore makes a store with tasks in a table and in the log, and returns its folder.
func newStore(t *testing.T, more func(b *Batch)) string {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(dir, Options{Durability: Sync})
	require.NoError(t, err)
	putTasks(t, s, 1, 50)
	require.NoError(t, s.db.Flush())
	putTasks(t, s, 51, 20)
	if more != nil {
		b := s.NewBatch()
		more(b)
		commitBatch(t, b)
	}
	require.NoError(t, s.Close())
	return dir
}

func TestVerifyStoreWritesNothing(t *testing.T) {
	dir := newStore(t, nil)
	before := tree(t, dir)
	h, err := VerifyStore(t.Context(), dir)
	require.NoError(t, err)
	assert.Equal(t, Holding{Queues: 1, Tasks: 70}, h)
	assert.Equal(t, before, tree(t, dir))
}

func TestVerifyStoreFindsWhatIsDamaged(t *testing.T) {
	dir := newStore(t, nil)
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	require.NoError(t, err)
	require.NotEmpty(t, tables)
	text, err := os.ReadFile(tables[0])
	require.NoError(t, err)
	text[100] ^= 1
	require.NoError(t, os.WriteFile(tables[0], text, 0o600))
	_, err = VerifyStore(t.Context(), dir)
	require.ErrorContains(t, err, "checksum mismatch")
	assert.ErrorContains(t, err, dir)

	// A server that comes upon it stops, and names the file.
	var problems []string
	s, err := Open(dir, Options{Durability: Sync, Fatal: func(problem string) { problems = append(problems, problem) }})
	require.NoError(t, err)
	_, err = s.Audit(1_000)
	require.ErrorContains(t, err, "checksum mismatch")
	require.NotEmpty(t, problems)
	assert.Contains(t, problems[0], tables[0]+" is damaged: ")
	require.NoError(t, s.Close())
}

// A record that no server wrote is found, whatever kind it claims to be.
func TestVerifyStoreDecodesEveryRecord(t *testing.T) {
	ref := queue.Ref{Queue: 1, Seq: 7}
	for name, key := range map[string][]byte{
		"task": refKey(prefixTask, ref), "progress": refKey(prefixProgress, ref), "dead": refKey(prefixDead, ref),
		"attempt": append(refKey(prefixAttempt, ref), 0, 0, 0, 1), "key": []byte("k12345678qqqqk"), "result": []byte("r12345678qqqqp12345678"),
		"lease": []byte("l12345678"), "queue": queueKey(9), "meta": {prefixMeta},
	} {
		dir := newStore(t, func(b *Batch) { require.NoError(t, b.b.Set(key, []byte{99}, nil)) })
		_, err := VerifyStore(t.Context(), dir)
		assert.ErrorContains(t, err, "has format 99", name)
	}
}

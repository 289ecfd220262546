// Package storagetest fills and reads stores. It is for tests of the packages that use package
// storage.
package storagetest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// PutTasks stores n tasks whose seqs start at from. It also stores a queue record that counts all
// tasks up to the last one.
func PutTasks(t *testing.T, s *storage.Store, from, n uint64) {
	t.Helper()
	b := s.NewBatch()
	for seq := from; seq < from+n; seq++ {
		ref := queue.Ref{Queue: 1, Seq: seq}
		b.PutTask(ref, queue.Task{EnqueuedAtMs: 1, Payload: bytes.Repeat([]byte{byte(seq)}, 100)})
	}
	all := from + n - 1
	b.PutQueue(&queue.Record{ID: 1, Tenant: "t", Name: "mail", NextSeq: from + n, Lanes: 1, Counts: queue.Counts{Enqueued: all, Fresh: all, Bytes: 100 * all}})
	b.PutMeta(queue.Meta{NextBatch: 1, NextQueue: 2})
	Commit(t, b)
}

// Commit submits a batch and waits until it is durable.
func Commit(t *testing.T, b *storage.Batch) {
	t.Helper()
	c, err := b.Submit()
	require.NoError(t, err)
	require.NoError(t, c.Wait())
}

// Files returns the content of each file below a folder, by the file's path.
func Files(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	}))
	return files
}

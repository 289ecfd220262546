package storage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// After a power loss a file system may bring back a removed log, but not the log after it, which
// ended the records. The floor states that they have ended.
func TestALogThatComesBackIsIgnored(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Options{YoungLogBytes: 1 << 10})
	old := logsOf(t, fs)[0]
	putFresh(t, s, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) // more than a log
	require.Eventually(t, func() bool { return s.PebbleMetrics().Flushes == 1 }, waitMost, waitStep)
	content := bytesOf(t, fs, "shard/"+old)
	dropTasks(t, s, 1) // stores the others
	dropTasks(t, s, 2)
	require.Zero(t, s.Young().Records)
	ends := slices.Max(logsOf(t, fs))
	for seq := uint64(13); logsOf(t, fs)[0] <= ends; seq++ {
		require.Less(t, seq, uint64(1000), "the logs are not removed")
		putFresh(t, s, seq)
		dropTasks(t, s, seq)
	}
	killed := cloned(fs)
	closeStore(t, s)
	require.Greater(t, logsOf(t, killed)[0], ends)
	f, err := killed.Create("shard/"+old, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(content)
	require.NoError(t, errors.Join(err, f.Sync(), f.Close()))
	require.Equal(t, []bool{false, false, false, true, true}, present(t, killed, 5))
}

// reuseAlone is a file system that reuses no file while mu is held. vfs.MemFS locks itself twice to
// reuse one, and never gets the second lock if CrashClone begins to wait in between.
type reuseAlone struct {
	vfs.FS
	mu *sync.Mutex
}

func (r reuseAlone) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.FS.ReuseForWrite(old, name, category)
}

// A start that is killed while it stores records does not store them again at the next start: a
// task that was set twice would reappear after its end.
func TestAKilledStartStoresNoRecordTwice(t *testing.T) {
	const tasks = 12
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Options{})
	commit(t, s, func(b *Batch) {
		for seq := range uint64(tasks) {
			b.PutFresh(seqRef(seq), queue.Task{Payload: []byte(strings.Repeat(fmt.Sprint(seq%10), storeAtOnceBytes/4))})
		}
		b.PutQueue(&queue.Record{ID: 1, Tenant: "t", Name: "q", NextSeq: tasks})
	})
	require.EqualValues(t, tasks, s.Young().Records)
	killed := cloned(fs)
	closeStore(t, s)

	var mu sync.Mutex
	var moments []*vfs.MemFS
	var blocks int // of logs and tables
	s = open(t, errorfs.Wrap(reuseAlone{killed, &mu}, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			if op.Kind == errorfs.OpFileWrite && (strings.HasSuffix(op.Path, walSuffix) || strings.HasSuffix(op.Path, ".sst")) {
				if blocks++; blocks%8 > 0 { // most blocks of a piece change nothing
					return nil
				}
			}
			moments = append(moments, cloned(killed))
		}
		return nil
	})), Options{MemTableBytes: 64 << 10}) // each piece fills a memtable
	mu.Lock()
	inOpen := moments
	mu.Unlock()
	closeStore(t, s)
	require.Greater(t, len(inOpen), tasks)
	for i, m := range inOpen {
		s := open(t, m, Options{})
		commit(t, s, func(b *Batch) {
			for seq := range uint64(tasks) {
				b.DropTask(seqRef(seq))
			}
			b.PutMeta(queue.Meta{NextBatch: 2})
		})
		require.NoError(t, s.Flush())
		closeStore(t, s)
		require.Zero(t, count(present(t, m, tasks)), "killed at moment %d of %d", i, len(inOpen))
	}
}

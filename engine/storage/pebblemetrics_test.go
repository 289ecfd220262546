package storage

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// noTables is a file system that blocks the creation of tables until the gate opens.
type noTables struct {
	vfs.FS
	gate chan struct{}
}

func (fs *noTables) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, ".sst") {
		<-fs.gate
	}
	return fs.FS.Create(name, c)
}

func TestPebbleMetricsCountFlushes(t *testing.T) {
	s, err := Open("shard", Options{FS: vfs.NewMem(), Durability: None})
	require.NoError(t, err)
	before := s.PebbleMetrics()
	assert.Positive(t, before.MemTables)
	putSeq(t, s, 1)
	require.NoError(t, s.Flush())
	after := s.PebbleMetrics()
	assert.Equal(t, before.Flushes+1, after.Flushes)
	assert.Greater(t, after.FlushedBytes, before.FlushedBytes)
	assert.Greater(t, after.LogBytes, before.LogBytes)
	assert.Equal(t, uint64(1), after.Tables)
	assert.Positive(t, after.TableBytes)
	assert.Positive(t, after.ReadAmplification)
	assert.Zero(t, after.WriteStalls)
	require.NoError(t, s.Close())
}

// Commits stall once the maximum number of memtables wait, and resume when these are flushed.
func TestPebbleMetricsCountStalls(t *testing.T) {
	fs := &noTables{FS: vfs.NewMem(), gate: make(chan struct{})}
	s, err := Open("shard", Options{FS: fs, Durability: None, MemTableBytes: 64 << 10})
	require.NoError(t, err)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for seq := uint64(1); !stop.Load(); seq++ {
			b := s.NewBatch()
			b.PutTask(seqRef(seq), queue.Task{Payload: make([]byte, 4<<10)})
			c, err := b.Submit()
			if !assert.NoError(t, err) || !assert.NoError(t, c.Wait()) {
				return
			}
		}
	}()
	assert.Eventually(t, func() bool { return s.PebbleMetrics().WriteStalls > 0 }, waitMost, waitStep)
	during := s.PebbleMetrics().StallSeconds
	assert.Eventually(t, func() bool { return s.PebbleMetrics().StallSeconds > during }, waitMost, waitStep, "the stall continues")
	stop.Store(true)
	close(fs.gate)
	<-done
	over := s.PebbleMetrics()
	assert.Greater(t, over.StallSeconds, during)
	assert.Equal(t, over.StallSeconds, s.PebbleMetrics().StallSeconds, "the stall has ended")
	require.NoError(t, s.Close())
}

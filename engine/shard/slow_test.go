package shard

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/queue"
)

// A commit with a slow fsync is recorded with that cause, and the next commit with its wait behind
// it.
func TestSlowCommitsAreRecordedWithTheirCause(t *testing.T) {
	disk, fs := newSlowLog()
	log := stalls.New()
	f := start(t, fs, Options{Stalls: log, Number: 7})
	defer f.stop()
	defer disk.letGo()
	refs := f.enqueue(newTasks("q", 1)...)
	f.idle()

	disk.held.Store(true)
	first := f.enqueueLater(newTasks("q", 3)...)
	receive(t, disk.entered)
	second := f.enqueueLater(newTasks("later", 1)...)
	f.decided(queue.Ref{Queue: refs[0].Queue + 1})
	submitted := time.Now()
	require.Eventually(t, func() bool { return time.Since(submitted) > 2*stalls.Slow }, waitMost, waitStep)
	disk.letGo()
	require.NoError(t, receive(t, first).err)
	require.NoError(t, receive(t, second).err)
	f.idle()

	r := log.Record()
	require.GreaterOrEqual(t, len(r.Commits), 2)
	slow, behind := r.Commits[len(r.Commits)-2], r.Commits[len(r.Commits)-1]
	assert.Equal(t, 7, slow.Shard)
	assert.Equal(t, stalls.Fsync, slow.Cause)
	assert.GreaterOrEqual(t, slow.ByCause[stalls.Fsync], stalls.Slow)
	assert.Equal(t, stalls.Behind, behind.Cause)
	assert.Greater(t, behind.Ended, slow.Ended)
	fsyncs := 0
	for _, span := range r.Spans {
		if span.Kind == stalls.FsyncWork && span.Ended-span.Began > stalls.Slow {
			fsyncs++
		}
	}
	assert.Positive(t, fsyncs)
}

func TestAShardNeedsNoRecord(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	defer f.stop()
	f.enqueue(newTasks("q", 1)...)
}

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
	held := 2 * stalls.Slow
	r, rest := slowCommits(t, held)
	for rest > held { // the host delayed the commits for longer than the disk did
		held *= 4
		r, rest = slowCommits(t, held)
	}
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

// slowCommits makes a commit whose fsync takes at least held, and one that waits for it. rest is the
// time that the commits have spent on everything else, at most.
func slowCommits(t *testing.T, held time.Duration) (r stalls.Record, rest time.Duration) {
	t.Helper()
	disk, fs := newSlowLog()
	log := stalls.New()
	f := start(t, fs, Options{Stalls: log, Number: 7})
	defer f.stop()
	defer disk.letGo()
	refs := f.enqueue(newTasks("q", 1)...)
	f.idle()

	disk.held.Store(true)
	began := time.Now()
	first := f.enqueueLater(newTasks("q", 3)...)
	receive(t, disk.entered)
	second := f.enqueueLater(newTasks("later", 1)...)
	f.decided(queue.Ref{Queue: refs[0].Queue + 1})
	submitted := time.Now()
	require.Eventually(t, func() bool { return time.Since(submitted) > held }, waitMost, waitStep)
	waited := time.Since(submitted)
	disk.letGo()
	require.NoError(t, receive(t, first).err)
	require.NoError(t, receive(t, second).err)
	f.idle()
	return log.Record(), time.Since(began) - waited
}

func TestAShardNeedsNoRecord(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	defer f.stop()
	f.enqueue(newTasks("q", 1)...)
}

package shard

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// Delete removes a queue from all shards. If the queue has tasks in any state, Delete requires
// force. Afterwards the name belongs to a new queue with the default placement.
func TestAQueueIsDeletedFromAllShards(t *testing.T) {
	ctx := context.Background()
	f := startGroup(t, vfs.NewMem(), 3, nil)
	defer f.stop()
	require.NoError(t, f.Configure(ctx, tenant, "q", queue.Policy{Placement: queue.Ordered, MaxAttempts: 1}))
	_, err := f.Delete(ctx, tenant, "other", true)
	require.ErrorIs(t, err, ErrNoQueue)
	for i := range 3 {
		f.enqueueAt(i, newTasks("q", 3)...)
	}
	for _, d := range f.claim(3, "q") { // some tasks die
		f.settle(d.settlement(queue.Fail))
	}
	f.claim(2, "q") // and some stay leased
	_, err = f.Delete(ctx, tenant, "q", false)
	require.ErrorIs(t, err, queue.ErrQueueNotEmpty)
	st, err := f.QueueStats(ctx, tenant, "q")
	require.NoError(t, err)
	require.EqualValues(t, 9, st.Ready+st.Delayed+st.Leased+st.Dead, "nothing was removed")
	require.Positive(t, st.Dead)
	require.Positive(t, st.Leased)

	removed, err := f.Delete(ctx, tenant, "q", true)
	require.NoError(t, err)
	assert.EqualValues(t, 9, removed)
	_, err = f.QueueStats(ctx, tenant, "q")
	require.ErrorIs(t, err, ErrNoQueue)
	all, err := AwaitReply(ctx, f.Stats)
	require.NoError(t, err)
	assert.Empty(t, all, "the deleted queue has no figures")
	assert.NotContains(t, *f.places.pins.Load(), queueName{tenant, "q"})
	f.enqueueAt(0, newTasks("q", 1)...)
	st, err = f.QueueStats(ctx, tenant, "q")
	require.NoError(t, err)
	assert.Zero(t, st.PolicyVersion)
	_, err = f.Delete(ctx, tenant, "q", true)
	require.NoError(t, err)
	for _, s := range f.here.Load().shards {
		assert.Zero(t, s.subscribers.Load())
	}
}

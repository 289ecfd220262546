package shard

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/schedule"
)

func everyMs(ms uint64) queue.RecurringSpec {
	return queue.RecurringSpec{Schedule: schedule.Spec{EveryMs: ms}, Template: queue.Template{Payload: []byte("p")}}
}

// The tasks of a recurring task are stored in the shard to which an ordered queue belongs, and are
// leased like other tasks.
func TestARecurringTaskRunsInTheShardOfItsQueue(t *testing.T) {
	ctx := context.Background()
	f := startGroup(t, vfs.NewMem(), 3, nil)
	defer f.stop()
	require.NoError(t, f.Configure(ctx, tenant, "q", queue.Policy{Placement: queue.Ordered}))
	v, err := f.SetRecurring(ctx, tenant, "q", "r", everyMs(5_000))
	require.NoError(t, err)
	assert.Equal(t, []int64{5_000, 10_000}, v.Next(2))
	f.nowMs.Add(4_000)
	f.ClockMoved()
	ds := f.claim(1, "q")
	require.Len(t, ds, 1)
	assert.Equal(t, uint16(f.owner(tenant, "q")), ds[0].shard)
	id, err := f.RunRecurring(ctx, tenant, "q", "r")
	require.NoError(t, err)
	require.Len(t, f.claim(1, "q"), 1)
	assert.Equal(t, ds[0].shard, id.Shard)
	require.NoError(t, f.PauseRecurring(ctx, tenant, "q", "r", true))
	v, err = f.Recurring(ctx, tenant, "q", "r")
	require.NoError(t, err)
	assert.True(t, v.Progress.Paused)
	assert.Equal(t, uint64(2), v.Progress.Runs)
	require.NoError(t, f.DeleteRecurring(ctx, tenant, "q", "r"))
	for _, name := range []string{"q", "other"} {
		_, err = f.Recurring(ctx, tenant, name, "r")
		require.ErrorIs(t, err, ErrNoRecurring)
		_, err = f.RunRecurring(ctx, tenant, name, "r")
		require.ErrorIs(t, err, ErrNoRecurring)
		require.ErrorIs(t, f.PauseRecurring(ctx, tenant, name, "r", true), ErrNoRecurring)
		require.ErrorIs(t, f.DeleteRecurring(ctx, tenant, name, "r"), ErrNoRecurring)
	}
}

func TestRecurringTasksOfAllShardsAreListed(t *testing.T) {
	ctx := context.Background()
	f := startGroup(t, vfs.NewMem(), 3, nil)
	defer f.stop()
	shards := map[int]bool{}
	for _, name := range []string{"d", "b", "a", "c", "e", "f"} {
		_, err := f.SetRecurring(ctx, tenant, name, "r", everyMs(5_000))
		require.NoError(t, err)
		shards[f.RecurringShard(tenant, name)] = true
	}
	require.Greater(t, len(shards), 1)
	l := RecurringList{Tenant: tenant, Limit: 4}
	var names []string
	for _, want := range []int{4, 2} {
		page, err := f.ListRecurring(ctx, l)
		require.NoError(t, err)
		require.Len(t, page, want)
		for _, v := range page {
			names = append(names, v.QueueName)
		}
		l.AfterQueue, l.AfterName = names[len(names)-1], "r"
	}
	assert.Equal(t, []string{"a", "b", "c", "d", "e", "f"}, names)
}

func TestAQueueIsDeletedWithItsRecurringTasksOnlyByForce(t *testing.T) {
	ctx := context.Background()
	f := startGroup(t, vfs.NewMem(), 3, nil)
	defer f.stop()
	require.NoError(t, f.Configure(ctx, tenant, "q", queue.Policy{}))
	for _, name := range []string{"r", "s"} {
		_, err := f.SetRecurring(ctx, tenant, "q", name, everyMs(5_000))
		require.NoError(t, err)
	}
	_, err := f.Delete(ctx, tenant, "q", false)
	require.ErrorIs(t, err, queue.ErrQueueNotEmpty)
	_, err = f.QueueStats(ctx, tenant, "q")
	require.NoError(t, err)
	_, err = f.Delete(ctx, tenant, "q", true)
	require.NoError(t, err)
	_, err = f.QueueStats(ctx, tenant, "q")
	require.ErrorIs(t, err, ErrNoQueue)
	page, err := f.ListRecurring(ctx, RecurringList{Tenant: tenant, Limit: 9})
	require.NoError(t, err)
	assert.Empty(t, page)
}

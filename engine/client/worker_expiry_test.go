package client_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

// A handler that never settles its task occupies a slot only until the lease expires. A later
// settlement fails with ErrLeaseExpired.
func TestAHandlerThatNeverSettlesGivesItsSlotBack(t *testing.T) {
	ctx := bounded(t)
	c, _ := realServer(t)
	enqueue(ctx, t, c, 3)
	w, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"q"}, Slots: 1, Lease: 100 * time.Millisecond})
	require.NoError(t, err)
	stuck := receive(ctx, t, w)
	again := receive(ctx, t, w) // the only slot is free again
	assert.Equal(t, stuck.GetId(), again.GetId(), "the server delivers the task again")
	assert.Greater(t, again.GetToken(), stuck.GetToken())
	assert.Positive(t, w.Stats().LeasesExpired)
	for range 2 {
		err = w.Complete(ctx, stuck)
		require.ErrorIs(t, err, client.ErrLeaseExpired)
		require.ErrorIs(t, err, client.ErrStaleToken)
	}
	var refused *client.Error
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, w.Extend(ctx, stuck, time.Hour), client.ErrLeaseExpired)
	errs, err := w.CompleteBatch(ctx, []*queuepb.Task{stuck})
	require.NoError(t, err)
	require.ErrorIs(t, errs[0], client.ErrLeaseExpired)
	require.NoError(t, w.Close(ctx))
}

// An extended lease lasts for the time of the extension. Receive does not return tasks whose leases
// have expired.
func TestExtendedLeasesAreKeptAndUnreceivedTasksAreNot(t *testing.T) {
	ctx := bounded(t)
	c, _ := realServer(t)
	enqueue(ctx, t, c, 1)
	w, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"q"}, Slots: 2, Lease: 500 * time.Millisecond})
	require.NoError(t, err)
	task := receive(ctx, t, w)
	for w.Extend(ctx, task, time.Hour) != nil { // on a slow machine, the extension may be late
		task = receive(ctx, t, w)
	}
	before := w.Stats()
	enqueue(ctx, t, c, 1)
	require.Eventually(t, func() bool { return w.Stats().ExpiredUnreceived > before.ExpiredUnreceived }, patience, time.Millisecond)
	late := receive(ctx, t, w)
	assert.NotEqual(t, task.GetId(), late.GetId())
	require.NoError(t, w.Complete(ctx, task), "the lease is still valid")
	require.NoError(t, w.Close(ctx))
}

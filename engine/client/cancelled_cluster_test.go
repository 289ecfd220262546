package client_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queuepb"
)

// A cancellation at any node of a cluster reaches the session that has the task. The test logs the
// time from the cancelling call to OnCancel.
func TestACancellationAtAnyNodeReachesTheWorker(t *testing.T) {
	const nodes = 3
	n := longtest.Count(t, 2*nodes, 3_000)
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	// No election happens by itself, even if a busy host pauses the process.
	r := openRealCluster(t, nodes, 1, 6*time.Second)
	var admins []*client.Admin
	for _, n := range r.running {
		admins = append(admins, dialAdmin(t, n))
	}
	type report struct {
		task *queuepb.Task
		at   time.Time
	}
	reports := make(chan report, 1)
	c := r.client()
	w, err := c.Worker(ctx, client.WorkerConfig{
		Queues: []string{"q"}, Slots: 4, Lease: time.Hour,
		OnCancel: func(task *queuepb.Task) { reports <- report{task, time.Now()} },
	})
	require.NoError(t, err)
	var took []time.Duration
	for i := range n {
		enqueue(ctx, t, c, 1)
		task := receive(ctx, t, w)
		began := time.Now()
		out, err := admins[i%nodes].CancelTasks(ctx, &adminpb.CancelTasksRequest{Ids: []string{task.GetId()}})
		require.NoError(t, err)
		require.Nil(t, out.GetResults()[0].GetError())
		select {
		case got := <-reports:
			require.Same(t, task, got.task)
			took = append(took, got.at.Sub(began))
		case <-ctx.Done():
			require.NoError(t, ctx.Err(), "cancellation %d at node %d is not reported", i, i%nodes)
		}
		require.ErrorIs(t, w.Complete(ctx, task), client.ErrCancelled)
	}
	require.NoError(t, w.Close(ctx))
	slices.Sort(took)
	t.Logf("from a cancellation to OnCancel: p50 %v, p99 %v, maximum %v of %d", took[n/2], took[n*99/100], took[n-1], n)
}

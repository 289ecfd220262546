package client_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/queuepb"
)

// A note survives restarts and changes of the leader, before and after the attempt has failed.
func TestANoteSurvivesRestartsAndFailovers(t *testing.T) {
	const nodes = 3
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	r := openRealCluster(t, nodes, 1, cluster.ElectionTimeoutMin)
	c := r.client()
	w, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"q"}, Slots: 1, Lease: time.Hour})
	require.NoError(t, err)
	enqueue(ctx, t, c, 1)
	task := receive(ctx, t, w)
	restart := func(want string) {
		for i := range nodes {
			require.NoError(t, r.running[i].Shutdown(ctx))
			r.start(i)
			out, err := c.API().GetTask(ctx, &queuepb.GetTaskRequest{Id: task.GetId()})
			require.NoError(t, err)
			assert.Equal(t, want, out.GetTask().GetNote(), "node %d has restarted", i)
		}
	}
	for i := range 2 {
		note := fmt.Sprint("step ", i)
		require.NoError(t, w.ExtendWithNote(ctx, task, time.Hour, note))
		restart(note)
	}
	require.NoError(t, w.Fail(ctx, task, "broke", time.Hour))
	restart("step 1")
	require.NoError(t, w.Close(ctx))
}

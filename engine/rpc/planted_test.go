//go:build planted

package rpc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/queuepb"
)

// plant activates one planted fault of the engine, or none for "".
func plant(t *testing.T, fault string) {
	t.Helper()
	t.Setenv("PRONY_PLANTED", fault)
	require.NoError(t, planted.Begin())
}

func TestPlantedReadsOfAnotherTenantsQueue(t *testing.T) {
	t.Cleanup(func() { require.NoError(t, planted.Begin()) })
	plant(t, planted.List)
	g := guard(t)
	_, secret := g.token("t0", access.Produce)
	_, err := queuepb.NewQueueServiceClient(g.dial(secret)).Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 3)})
	require.NoError(t, err)
	_, stranger := g.adminAs("t1", access.Admin)
	list := func() (int, error) {
		out, err := stranger.ListTasks(g.ctx, &adminpb.ListTasksRequest{Tenant: "t0", Queue: "q", State: queuepb.TaskState_TASK_STATE_READY})
		return len(out.GetTasks()), err
	}
	stats := func() (int, error) {
		out, err := stranger.GetQueue(g.ctx, &adminpb.GetQueueRequest{Tenant: "t0", Queue: "q"})
		return int(out.GetQueue().GetReady()), err
	}
	for fault, reads := range map[string]struct{ wrong, right func() (int, error) }{planted.List: {list, stats}, planted.Stats: {stats, list}} {
		plant(t, fault)
		n, err := reads.wrong()
		require.NoError(t, err, fault)
		assert.Equal(t, 3, n, fault)
		_, err = reads.right()
		assert.Equal(t, codes.PermissionDenied, status.Code(err), fault)
	}
}

func TestPlantedEndOfAWait(t *testing.T) {
	s := serve(t, nil)
	t.Cleanup(func() { require.NoError(t, planted.Begin()) })
	plant(t, planted.Await)
	id := s.enqueue(newTasks("q", 1)...)[0]
	a := <-s.await(s.ctx, id, 60_000)
	require.NoError(t, a.err)
	assert.Equal(t, stateDone, a.out.GetState(), "and it is ready")
	plant(t, planted.Lost)
	a = <-s.await(s.ctx, id, 1)
	require.NoError(t, a.err)
	assert.Equal(t, queuepb.TaskState_TASK_STATE_READY, a.out.GetState())
}

// The fault rpc delays each unary call and each frame of a stream.
func TestPlantedSleepOfCallsAndFrames(t *testing.T) {
	t.Cleanup(func() { require.NoError(t, planted.Begin()) })
	const sleep = 200 * time.Millisecond
	t.Setenv("PRONY_PLANTED", "rpc:"+sleep.String())
	s := serve(t, nil)
	sleeps := func(what string, ask func() error) {
		began := time.Now()
		require.NoError(t, ask(), what)
		assert.GreaterOrEqual(t, time.Since(began), sleep, what)
	}
	sleeps("call", func() error {
		_, err := s.Enqueue(s.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
		return err
	})
	producer, err := s.Produce(s.ctx)
	require.NoError(t, err)
	for frame := range uint64(2) {
		sleeps("frame of a producer", func() error {
			require.NoError(t, producer.Send(&queuepb.ProduceRequest{Frame: frame, Tasks: newTasks("q", 1)}))
			_, err := producer.Recv()
			return err
		})
	}
	worker, err := s.Work(s.ctx)
	require.NoError(t, err)
	sleeps("frame of a worker", func() error {
		require.NoError(t, worker.Send(&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Queues: []string{"q"}, LeaseMs: 60_000}, Credits: 1}))
		_, err := worker.Recv()
		return err
	})
}

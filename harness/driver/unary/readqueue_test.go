package unary

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"

	"github.com/pronybench/prony/harness/driver"
)

// queues answers reads of queues, and waits for the end of a task, with the values of the request.
type queues struct {
	queuepb.UnimplementedQueueServiceServer
	adminpb.UnimplementedAdminServiceServer
	refusal error
	state   queuepb.TaskState
	asked   any
}

func (s *queues) ListTasks(_ context.Context, in *adminpb.ListTasksRequest) (*adminpb.ListTasksResponse, error) {
	s.asked = []any{in.GetTenant(), in.GetState(), in.GetPageSize()}
	return &adminpb.ListTasksResponse{Tasks: []*queuepb.Task{
		{Id: "a", Tenant: in.GetTenant(), Queue: in.GetQueue(), Payload: []byte("x")}, {Id: "b", Tenant: in.GetTenant(), Queue: in.GetQueue(), Payload: []byte("y")},
	}}, s.refusal
}

func (s *queues) GetQueue(_ context.Context, in *adminpb.GetQueueRequest) (*adminpb.GetQueueResponse, error) {
	return &adminpb.GetQueueResponse{Queue: &adminpb.Queue{Tenant: in.GetTenant(), Queue: in.GetQueue(), Enqueued: 1 << 40}}, s.refusal
}

func (s *queues) AwaitResult(_ context.Context, in *queuepb.AwaitResultRequest) (*queuepb.AwaitResultResponse, error) {
	s.asked = []any{in.GetTenant(), in.GetId(), in.GetWaitMs()}
	return &queuepb.AwaitResultResponse{State: s.state, Result: []byte("r")}, s.refusal
}

func TestReadsOfQueuesAndWaits(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g, s := grpc.NewServer(), &queues{}
	queuepb.RegisterQueueServiceServer(g, s)
	adminpb.RegisterAdminServiceServer(g, s)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	address := listener.Addr().String()
	tasks, err := DialReader(driver.Target{Address: address})
	require.NoError(t, err)
	r, err := DialQueueReader(driver.Target{}, address)
	require.NoError(t, err)
	defer func() {
		require.NoError(t, r.Close())
		require.NoError(t, tasks.Close())
		g.Stop()
		require.NoError(t, <-served)
	}()

	for leased, state := range map[bool]queuepb.TaskState{false: queuepb.TaskState_TASK_STATE_READY, true: queuepb.TaskState_TASK_STATE_LEASED} {
		listed, err := r.List(t.Context(), "t1", "q7", leased)
		require.NoError(t, err)
		assert.Equal(t, []driver.Found{{ID: "a", Tenant: "t1", Queue: "q7", Payload: []byte("x")}, {ID: "b", Tenant: "t1", Queue: "q7", Payload: []byte("y")}}, listed)
		assert.Equal(t, []any{"t1", state, uint32(driver.ListMax)}, s.asked)
	}
	stats, err := r.Stats(t.Context(), "t1", "q7")
	require.NoError(t, err)
	assert.Equal(t, driver.QueueStats{Tenant: "t1", Queue: "q7", Enqueued: 1 << 40}, stats)
	for state, want := range map[queuepb.TaskState]driver.TaskState{
		queuepb.TaskState_TASK_STATE_READY: driver.Open, queuepb.TaskState_TASK_STATE_DELAYED: driver.Open, queuepb.TaskState_TASK_STATE_LEASED: driver.Open,
		queuepb.TaskState_TASK_STATE_DONE: driver.Done, queuepb.TaskState_TASK_STATE_DEAD: driver.Dead, queuepb.TaskState_TASK_STATE_UNSPECIFIED: 0,
	} {
		s.state = state
		awaited, err := tasks.Await(t.Context(), "t1", "abc", 1500*time.Millisecond)
		require.NoError(t, err)
		assert.Equal(t, driver.Awaited{State: want, Result: []byte("r")}, awaited)
		assert.Equal(t, []any{"t1", "abc", uint64(1500)}, s.asked)
	}

	for code, want := range map[codes.Code]error{codes.NotFound: driver.ErrNotFound, codes.PermissionDenied: driver.ErrDenied, codes.ResourceExhausted: driver.ErrFull} {
		s.refusal = status.Error(code, "no")
		_, err := r.List(t.Context(), "t1", "q7", false)
		require.ErrorIs(t, err, want)
		_, err = r.Stats(t.Context(), "t1", "q7")
		require.ErrorIs(t, err, want)
		_, err = tasks.Await(t.Context(), "t1", "abc", 0)
		require.ErrorIs(t, err, want)
	}
}

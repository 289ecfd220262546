package unary

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"

	"github.com/pronybench/prony/harness/driver"
)

// reads answers GetTask as a test defines.
type reads struct {
	queuepb.UnimplementedQueueServiceServer
	answer func(*queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error)
}

func (s reads) GetTask(_ context.Context, in *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
	return s.answer(in)
}

func TestARead(t *testing.T) {
	refusal := codes.OK
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer()
	queuepb.RegisterQueueServiceServer(g, reads{answer: func(in *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
		if refusal != codes.OK {
			return nil, status.Error(refusal, "no")
		}
		return &queuepb.GetTaskResponse{Task: &queuepb.Task{Id: in.GetId(), Tenant: in.GetTenant(), Queue: "q7", Payload: []byte("x")}}, nil
	}})
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	r, err := DialReader(driver.Target{Address: listener.Addr().String()})
	require.NoError(t, err)
	defer func() {
		require.NoError(t, r.Close())
		g.Stop()
		require.NoError(t, <-served)
	}()
	found, err := r.Read(t.Context(), "t1", "abc")
	require.NoError(t, err)
	assert.Equal(t, driver.Found{ID: "abc", Tenant: "t1", Queue: "q7", Payload: []byte("x")}, found)
	marks := []error{driver.ErrNotFound, driver.ErrDenied, driver.ErrFull}
	for code, want := range map[codes.Code]error{
		codes.NotFound: driver.ErrNotFound, codes.PermissionDenied: driver.ErrDenied, codes.ResourceExhausted: driver.ErrFull, codes.Internal: nil,
	} {
		refusal = code
		_, err := r.Read(t.Context(), "t1", "abc")
		require.Error(t, err)
		for _, mark := range marks {
			if want != nil && errors.Is(mark, want) {
				assert.ErrorIs(t, err, mark)
			} else {
				assert.NotErrorIs(t, err, mark, "%v", code)
			}
		}
	}
}

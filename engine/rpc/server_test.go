package rpc_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/pronybench/prony/engine/queuepb"
)

func TestHealthIsServing(t *testing.T) {
	s := serve(t, nil)
	for _, service := range []string{"", "prony.queue.v1.QueueService"} {
		out, err := healthpb.NewHealthClient(s.conn).Check(s.ctx, &healthpb.HealthCheckRequest{Service: service})
		require.NoError(t, err)
		assert.Equal(t, healthpb.HealthCheckResponse_SERVING, out.GetStatus())
	}
	_, err := healthpb.NewHealthClient(s.conn).Check(s.ctx, &healthpb.HealthCheckRequest{Service: "unknown"})
	requireCode(t, codes.NotFound, err)
}

func TestReflectionListsTheService(t *testing.T) {
	s := serve(t, nil)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	stream, err := reflectionpb.NewServerReflectionClient(s.conn).ServerReflectionInfo(ctx)
	require.NoError(t, err)
	require.NoError(t, stream.Send(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{},
	}))
	out, err := stream.Recv()
	require.NoError(t, err)
	var names []string
	for _, service := range out.GetListServicesResponse().GetService() {
		names = append(names, service.GetName())
	}
	assert.Contains(t, names, "prony.queue.v1.QueueService")
	assert.Contains(t, names, "grpc.health.v1.Health")
}

func TestAnOversizedMessageIsRefusedAndTheConnectionLivesOn(t *testing.T) {
	s := serve(t, nil)
	large := []*queuepb.NewTask{{Queue: "q", Payload: bytes.Repeat([]byte("x"), 16<<20)}}
	_, err := s.Enqueue(s.ctx, &queuepb.EnqueueRequest{Tasks: large})
	requireCode(t, codes.ResourceExhausted, err)
	p := s.produce()
	p.send(&queuepb.ProduceRequest{Tasks: large})
	requireCode(t, codes.ResourceExhausted, p.end())
	s.enqueue(newTasks("q", 1)...)
}

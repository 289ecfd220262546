package rpc_test

import (
	"context"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
)

// encodedCodec sends messages of type []byte unchanged, since they are already encoded.
type encodedCodec struct{ encoding.CodecV2 }

func (c encodedCodec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

var sendEncoded = grpc.ForceCodecV2(encodedCodec{encoding.GetCodecV2(proto.Name)})

// emptyItems returns an encoded message of the largest size, whose list consists of empty messages
// or strings.
func emptyItems(list protowire.Number) []byte {
	item := protowire.AppendBytes(protowire.AppendTag(nil, list, protowire.BytesType), nil)
	b := make([]byte, 0, 16<<20)
	for len(b)+len(item) <= cap(b) {
		b = append(b, item...)
	}
	return b
}

// A server refuses a call without a token before it reads the message: otherwise clients without a
// token could fill its memory.
func TestCallsWithoutATokenAreRefusedBeforeTheirMessageComes(t *testing.T) {
	g := guard(t)
	conn := g.dial("")
	for _, deadline := range []bool{true, false} { // the handler refuses calls with a deadline
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if deadline {
			ctx, cancel = context.WithTimeout(ctx, time.Hour)
			defer cancel()
		}
		defer time.AfterFunc(patience, cancel).Stop()
		for _, m := range allMethods(t) {
			if !strings.HasPrefix(m.name, "/"+queuepb.QueueService_ServiceDesc.ServiceName) {
				continue // the fixture serves this API without NewServer
			}
			stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, m.name)
			require.NoError(t, err)
			requireCode(t, codes.Unauthenticated, stream.RecvMsg(&queuepb.EnqueueResponse{}))
		}
	}
}

// Memory that gRPC retains for a call until the call's deadline could be exhausted by clients
// without a token.
func TestNothingIsLeftOfRefusedCalls(t *testing.T) {
	g := guard(t)
	conn := g.dial("")
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	call := func(times int) uint64 {
		for range times {
			err := conn.Invoke(ctx, queuepb.QueueService_Enqueue_FullMethodName, &queuepb.EnqueueRequest{}, &queuepb.EnqueueResponse{})
			requireCode(t, codes.Unauthenticated, err)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapObjects
	}
	const calls = 3_000
	before := call(100)
	assert.Less(t, call(calls), before+calls/2)
}

func TestMessagesOfTooManyItemsAreRefusedByTheirField(t *testing.T) {
	g := guard(t)
	_, secret := g.token(access.AllTenants, access.AllScopes)
	conn := g.dial(secret)
	for method, c := range map[string]struct {
		list  protowire.Number
		field string
	}{
		queuepb.QueueService_Enqueue_FullMethodName:     {2, "tasks"},
		queuepb.QueueService_Complete_FullMethodName:    {2, "completions"},
		queuepb.QueueService_Claim_FullMethodName:       {2, "queues"},
		adminpb.AdminService_CancelTasks_FullMethodName: {2, "ids"},
	} {
		err := conn.Invoke(g.ctx, method, emptyItems(c.list), &queuepb.EnqueueResponse{}, sendEncoded)
		requireTooMany(t, c.field, err)
	}
	for method, c := range map[string]struct {
		list  protowire.Number
		field string
	}{
		queuepb.QueueService_Produce_FullMethodName: {3, "tasks"},
		queuepb.QueueService_Work_FullMethodName:    {4, "settlements"},
	} {
		stream, err := conn.NewStream(g.ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method, sendEncoded)
		require.NoError(t, err)
		require.NoError(t, stream.SendMsg(emptyItems(c.list)))
		requireTooMany(t, c.field, stream.RecvMsg(&queuepb.ProduceResponse{}))
	}
}

func requireTooMany(t *testing.T, field string, err error) {
	t.Helper()
	requireCode(t, codes.InvalidArgument, err)
	assert.Contains(t, err.Error(), field)
	assert.Contains(t, err.Error(), "has 8388608 items: send at most 1000")
}

// The codec counts the elements of a message of 16 MiB without decoding them, which would take 60
// times the memory.
func TestRefusedItemsTakeNoMemory(t *testing.T) {
	g := guard(t)
	_, secret := g.token("t0", access.Produce)
	conn := g.dial(secret)
	message := emptyItems(2)
	call := func() {
		err := conn.Invoke(context.Background(), queuepb.QueueService_Enqueue_FullMethodName, message, &queuepb.EnqueueResponse{}, sendEncoded)
		requireTooMany(t, "tasks", err)
	}
	call() // fills the buffer pools
	assert.Less(t, testing.AllocsPerRun(1, call), 100_000.0, "the message has 8 million items")
}

// fewCalls returns bounds of four calls and the given bytes of requests.
func fewCalls(requestBytes int64, gate *memory.Gate) *call.Bounds {
	return call.NewBounds(memory.Shares{MessageBytes: 16 << 20, RequestBytes: requestBytes, StreamWindow: 1 << 20, ConnWindow: 1 << 20, Calls: 4}, gate)
}

func TestHeadersAreBounded(t *testing.T) {
	g := guard(t)
	_, secret := g.token("t0", access.Produce)
	ctx := metadata.AppendToOutgoingContext(g.ctx, "x-large", strings.Repeat("x", 100<<10))
	_, err := queuepb.NewQueueServiceClient(g.dial(secret)).Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
	require.Error(t, err)
	assert.Contains(t, err.Error(), "header list size")
}

// A claim has few bytes but brings as much into memory as an enqueue.
func TestTheGateCountsWhatClaimsBring(t *testing.T) {
	var looked atomic.Bool
	gate := memory.NewGate(1, func() bool { // reports that the process is always too large
		looked.Store(true)
		return false
	}, slog.New(slog.DiscardHandler))
	g := guardWithin(t, call.NewBounds(memory.Shares{MessageBytes: 16 << 20, RequestBytes: 64 << 20, StreamWindow: 1 << 20, ConnWindow: 1 << 20, Calls: 4, ClaimBytes: 1 << 20}, gate))
	api := g.as("t0", access.AllScopes)
	tasks := newTasks("q", 1)
	tasks[0].Payload = make([]byte, 100_000)
	_, err := api.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: tasks})
	require.NoError(t, err)
	assert.False(t, looked.Load(), "the fixture's connections do not count their reads")
	out, err := api.Claim(g.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 1})
	require.NoError(t, err)
	assert.Len(t, out.GetTasks(), 1)
	assert.True(t, looked.Load())
	_, err = api.Claim(g.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 1})
	requireCode(t, codes.ResourceExhausted, err)
}

// A tenant has at most half of the calls, so that other tenants have room.
func TestATenantHasHalfOfTheCalls(t *testing.T) {
	g := guardWithin(t, fewCalls(64<<20, nil))
	one, other := g.as("t0", access.AllScopes), g.as("t1", access.AllScopes)
	var streams []grpc.BidiStreamingClient[queuepb.ProduceRequest, queuepb.ProduceResponse]
	for range 2 {
		s, err := one.Produce(g.ctx)
		require.NoError(t, err)
		require.NoError(t, s.Send(&queuepb.ProduceRequest{Tasks: newTasks("q", 1)}))
		_, err = s.Recv()
		require.NoError(t, err)
		streams = append(streams, s)
	}
	_, err := one.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
	requireCode(t, codes.ResourceExhausted, err)
	assert.Contains(t, err.Error(), "the tenant has 2 active calls and streams")
	_, err = other.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
	require.NoError(t, err)
	require.NoError(t, streams[0].CloseSend())
	_, err = streams[0].Recv()
	require.ErrorIs(t, err, io.EOF)
	require.Eventually(t, func() bool {
		_, err := one.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
		return err == nil
	}, patience, time.Millisecond, "a call that ended makes room")
}

// All tenants together are limited to the calls that the server's memory allows.
func TestCallsOfAllTenantsAreBounded(t *testing.T) {
	g := guardWithin(t, fewCalls(64<<20, nil))
	for _, tenant := range []string{"t0", "t0", "t1", "t1"} {
		s, err := g.as(tenant, access.AllScopes).Produce(g.ctx)
		require.NoError(t, err)
		require.NoError(t, s.Send(&queuepb.ProduceRequest{Tasks: newTasks("q", 1)}))
		_, err = s.Recv()
		require.NoError(t, err)
	}
	_, err := g.as("t2", access.AllScopes).Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
	requireCode(t, codes.ResourceExhausted, err)
	assert.Contains(t, err.Error(), "4 calls and streams are active")
}

// Requests reserve budget before they are decoded, and return it.
func TestRequestsHaveABudget(t *testing.T) {
	g := guardWithin(t, fewCalls(64<<10, nil))
	api := g.as("t0", access.AllScopes)
	enqueue := func(bytes int) error {
		_, err := api.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q", Payload: make([]byte, bytes)}}})
		return err
	}
	for range 10 {
		require.NoError(t, enqueue(15<<10))
	}
	err := enqueue(100 << 10)
	requireCode(t, codes.ResourceExhausted, err)
	assert.Contains(t, err.Error(), "requests take")
}

func TestCallsAreRefusedWhileTheProcessIsTooLarge(t *testing.T) {
	gate := memory.NewGate(1, func() bool { return false }, slog.New(slog.DiscardHandler))
	gate.Received(1 << 20)
	g := guardWithin(t, fewCalls(64<<20, gate))
	_, err := g.as("t0", access.AllScopes).Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
	requireCode(t, codes.ResourceExhausted, err)
}

package client_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

// A combined worker makes one call where a separate one makes two, and both complete the same
// tasks.
func TestAUnaryWorkerCombinesItsCalls(t *testing.T) {
	ctx := bounded(t)
	n, err := node.Open(node.Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Durability: storage.None})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Shutdown(ctx)) })
	var calls atomic.Int64
	c, err := client.Dial(n.Addresses()[0], grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, in, out any, cc *grpc.ClientConn, next grpc.UnaryInvoker, o ...grpc.CallOption) error {
			calls.Add(1)
			return next(ctx, method, in, out, cc, o...)
		}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	for _, combined := range []bool{false, true} {
		const batches = 5
		in := &queuepb.EnqueueRequest{}
		for range 2 * batches {
			in.Tasks = append(in.Tasks, &queuepb.NewTask{Queue: "q"})
		}
		_, err = c.API().Enqueue(ctx, in)
		require.NoError(t, err)
		w, err := c.UnaryWorker(client.UnaryWorkerConfig{Queues: []string{"q"}, Tasks: 2, Lease: time.Minute, Combined: combined})
		require.NoError(t, err)
		before := calls.Load()
		var done []*queuepb.Task
		for range batches {
			tasks, errs, err := w.Next(ctx, done)
			require.NoError(t, err)
			require.Nil(t, errs)
			require.Len(t, tasks, 2)
			done = tasks
		}
		twice := done[0]
		none, errs, err := w.Next(ctx, done)
		require.NoError(t, err)
		require.Nil(t, errs)
		assert.Empty(t, none)
		if combined {
			assert.EqualValues(t, batches+1, calls.Load()-before)
		} else {
			assert.EqualValues(t, 2*batches+1, calls.Load()-before)
		}
		_, errs, err = w.Next(ctx, []*queuepb.Task{twice})
		require.NoError(t, err)
		require.Len(t, errs, 1)
		require.ErrorIs(t, errs[0], client.ErrStaleToken)
		require.ErrorIs(t, w.Complete(ctx, []*queuepb.Task{twice})[0], client.ErrStaleToken)
	}
}

type unaryFake struct {
	queuepb.UnimplementedQueueServiceServer

	claim func(*queuepb.ClaimRequest) (*queuepb.ClaimResponse, error)
}

func (f *unaryFake) Claim(_ context.Context, in *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
	return f.claim(in)
}

func TestOutcomesOfACombinedClaim(t *testing.T) {
	ctx := bounded(t)
	f := &unaryFake{}
	w, err := serveUnary(t, f).UnaryWorker(client.UnaryWorkerConfig{Queues: []string{"q"}, Tasks: 1, Wait: time.Second, Combined: true})
	require.NoError(t, err)
	done := []*queuepb.Task{{Id: "a", Token: 1}, {Id: "b", Token: 2}}
	exhausted := &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, Message: "full"}

	// The claim was refused, and the completions were accepted.
	f.claim = func(in *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
		assert.EqualValues(t, 1_000, in.GetWaitMs())
		assert.Len(t, in.GetCompletions(), 2)
		return &queuepb.ClaimResponse{Results: []*queuepb.SettleResult{{}, {Error: exhausted}}, ClaimError: exhausted}, nil
	}
	tasks, errs, err := w.Next(ctx, done)
	assert.Empty(t, tasks)
	require.ErrorIs(t, err, client.ErrOverloaded)
	require.Len(t, errs, 2)
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], client.ErrOverloaded)

	// A status that refuses the call means no effect; any other error means an unknown outcome.
	for code, want := range map[codes.Code]error{codes.InvalidArgument: nil, codes.Unknown: client.ErrUnknownOutcome, codes.Canceled: client.ErrUnknownOutcome} {
		f.claim = func(*queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) { return nil, status.Error(code, "no") }
		_, errs, err = w.Next(ctx, done)
		require.Equal(t, code, status.Code(err))
		require.Len(t, errs, 2)
		for _, e := range errs {
			if want == nil {
				require.Equal(t, code, status.Code(e))
				require.NotErrorIs(t, e, client.ErrUnknownOutcome)
			} else {
				require.ErrorIs(t, e, want)
			}
		}
	}

	// A server without the field completions returns no results.
	f.claim = func(*queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) { return &queuepb.ClaimResponse{}, nil }
	_, errs, err = w.Next(ctx, done)
	require.NoError(t, err)
	require.ErrorIs(t, errs[1], client.ErrUnknownOutcome)
}

func TestBadUnaryWorkers(t *testing.T) {
	c := serveUnary(t, &unaryFake{})
	for _, bad := range []client.UnaryWorkerConfig{{}, {Tasks: 1_001}, {Tasks: 1, Wait: -1}, {Tasks: 1, Lease: -1}} {
		_, err := c.UnaryWorker(bad)
		require.ErrorIs(t, err, client.ErrInvalidArgument)
	}
}

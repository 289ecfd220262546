package generator

import (
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/queuepb"
)

// noopServer answers each frame with the result of answer, or not at all if that is nil.
type noopServer struct {
	queuepb.UnimplementedQueueServiceServer
	answer func(*queuepb.ProduceRequest) (*queuepb.EnqueueAnswer, error)
}

func (s *noopServer) Produce(stream grpc.BidiStreamingServer[queuepb.ProduceRequest, queuepb.ProduceResponse]) error {
	for {
		in, err := stream.Recv()
		if err != nil {
			return err
		}
		a, err := s.answer(in)
		if err != nil {
			return err
		}
		if a == nil {
			continue
		}
		if err := stream.Send(&queuepb.ProduceResponse{Answers: []*queuepb.EnqueueAnswer{a}}); err != nil {
			return err
		}
	}
}

// serveNoops starts a server on a Unix socket and returns its address.
func serveNoops(t *testing.T, answer func(*queuepb.ProduceRequest) (*queuepb.EnqueueAnswer, error)) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	server := grpc.NewServer()
	queuepb.RegisterQueueServiceServer(server, &noopServer{answer: answer})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		assert.NoError(t, <-ended)
	})
	return "unix:" + socket
}

func answered(in *queuepb.ProduceRequest) (*queuepb.EnqueueAnswer, error) {
	return &queuepb.EnqueueAnswer{Frame: in.GetFrame()}, nil
}

func TestNoopsOfSlicesAreThoseThatTheServerAnswered(t *testing.T) {
	counted := make(chan *queuepb.ProduceRequest, 1<<20)
	address := serveNoops(t, func(in *queuepb.ProduceRequest) (*queuepb.EnqueueAnswer, error) {
		counted <- in
		return answered(in)
	})
	s := serve(t)
	require.Empty(t, s.do("noop_open", NoopSpec{Target: Target{Address: address}, Connections: 2, InFlight: 3}).Error)
	requests := uint64(2) // from the opening
	for _, timed := range []bool{false, true} {
		var slice NoopSlice
		// On a busy host the generator may get no CPU time in a short slice.
		for length := 20 * time.Millisecond; slice.Requests == 0; length *= 2 {
			require.Less(t, length, time.Minute)
			a := s.do("noop_slice", noopArguments{Length: length, Timed: timed})
			require.Empty(t, a.Error)
			require.NoError(t, json.Unmarshal(a.Done, &slice))
			assert.GreaterOrEqual(t, slice.Took, length)
		}
		assert.Equal(t, timed, slice.Longest > 0)
		assert.LessOrEqual(t, slice.Longest, slice.Took)
		requests += slice.Requests
	}
	assert.EqualValues(t, requests, len(counted))
	in := <-counted
	assert.Empty(t, in.GetTasks())
	assert.Equal(t, noopTenant, in.GetTenant())
	require.NoError(t, s.in.Close())
	assert.NoError(t, <-s.ended)
}

func TestNoopLoadThatCannotBeOpened(t *testing.T) {
	refused := serveNoops(t, func(*queuepb.ProduceRequest) (*queuepb.EnqueueAnswer, error) {
		return nil, status.Error(codes.InvalidArgument, "tasks: is empty: send at least one")
	})
	texts := golden.Cases(t, "testdata/noops.golden")
	texts.Replace(refused, "ADDRESS")
	for name, spec := range map[string]NoopSpec{
		"no connections": {InFlight: 1},
		"many in flight": {Connections: 1, InFlight: 257},
		"refused":        {Target: Target{Address: refused}, Connections: 1, InFlight: 1},
	} {
		s := serve(t)
		text := s.do("noop_open", spec).Error
		texts.Equal(t, name, text)
		assert.EqualError(t, <-s.ended, text)
	}
	s := serve(t)
	texts.Equal(t, "no load", s.do("noop_slice", noopArguments{Length: 1}).Error)
	assert.Error(t, <-s.ended)
}

// The end of a server in a slice fails the slice. The generator can then be ended.
func TestNoopLoadWhoseServerFails(t *testing.T) {
	address := serveNoops(t, func(in *queuepb.ProduceRequest) (*queuepb.EnqueueAnswer, error) {
		if in.GetFrame() > 5 {
			return nil, status.Error(codes.Unavailable, "the server stops")
		}
		return answered(in)
	})
	s := &session{ctx: t.Context()}
	_, err := s.noopOpen(t.Context(), NoopSpec{Target: Target{Address: address}, Connections: 1, InFlight: 4})
	require.NoError(t, err)
	_, err = s.noopSlice(t.Context(), noopArguments{Length: time.Minute})
	require.ErrorContains(t, err, "the server stops")
	_, err = s.noopSlice(t.Context(), noopArguments{Length: 2 * time.Minute})
	golden.Cases(t, "testdata/noopslices.golden").Error(t, "a long slice", err)
	require.NoError(t, s.close())
}

// A load whose context has ended waits for no answer.
func TestNoopLoadEndsWithItsContext(t *testing.T) {
	address := serveNoops(t, func(in *queuepb.ProduceRequest) (*queuepb.EnqueueAnswer, error) {
		if in.GetFrame() > 1 {
			return nil, nil
		}
		return answered(in)
	})
	ctx, cancel := context.WithCancel(t.Context())
	s := &session{ctx: ctx}
	_, err := s.noopOpen(ctx, NoopSpec{Target: Target{Address: address}, Connections: 1, InFlight: 4})
	require.NoError(t, err)
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err = s.noopSlice(ctx, noopArguments{Length: time.Millisecond})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, s.close())
}

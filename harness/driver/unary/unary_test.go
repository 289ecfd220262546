package unary

import (
	"context"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/queuepb"

	"github.com/pronybench/prony/harness/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a queue server that answers as each test defines.
type server struct {
	queuepb.UnimplementedQueueServiceServer

	mu       sync.Mutex
	tokens   []string
	enqueue  func(*queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error)
	claim    func(context.Context, *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error)
	complete func(*queuepb.CompleteRequest) (*queuepb.CompleteResponse, error)
	fail     func(*queuepb.FailRequest) (*queuepb.FailResponse, error)
}

func (s *server) Fail(ctx context.Context, in *queuepb.FailRequest) (*queuepb.FailResponse, error) {
	s.note(ctx)
	return s.fail(in)
}

func (s *server) note(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, _ := metadata.FromIncomingContext(ctx)
	s.tokens = append(s.tokens, m.Get("authorization")...)
}

func (s *server) Enqueue(ctx context.Context, in *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
	s.note(ctx)
	return s.enqueue(in)
}

func (s *server) Claim(ctx context.Context, in *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
	s.note(ctx)
	return s.claim(ctx, in)
}

func (s *server) Complete(ctx context.Context, in *queuepb.CompleteRequest) (*queuepb.CompleteResponse, error) {
	s.note(ctx)
	return s.complete(in)
}

func (s *server) dial(t *testing.T, token string) driver.Conn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer()
	queuepb.RegisterQueueServiceServer(g, s)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	conn, err := Dial(driver.Target{Address: listener.Addr().String(), Token: token}, 45*time.Second)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		g.Stop()
		require.NoError(t, <-served)
	})
	return conn
}

func TestACycle(t *testing.T) {
	var enqueued *queuepb.EnqueueRequest
	var completed *queuepb.CompleteRequest
	var claims []*queuepb.ClaimRequest
	s := &server{
		enqueue: func(in *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
			enqueued = in
			out := &queuepb.EnqueueResponse{}
			for i := range in.GetTasks() {
				out.Results = append(out.Results, &queuepb.EnqueueResult{Id: strconv.Itoa(i)})
			}
			return out, nil
		},
		claim: func(_ context.Context, in *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
			claims = append(claims, in)
			if len(claims) == 1 {
				return &queuepb.ClaimResponse{}, nil // the wait has ended
			}
			out := &queuepb.ClaimResponse{}
			for i, task := range enqueued.GetTasks() {
				out.Tasks = append(out.Tasks, &queuepb.Task{
					Id: strconv.Itoa(i), Tenant: in.GetTenant(), Queue: task.GetQueue(), Payload: task.GetPayload(), Token: uint64(7 + i),
				})
			}
			return out, nil
		},
		complete: func(in *queuepb.CompleteRequest) (*queuepb.CompleteResponse, error) {
			completed = in
			return &queuepb.CompleteResponse{Results: []*queuepb.SettleResult{
				{}, {Error: &queuepb.ItemError{Index: 1, Code: queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN, Message: "too late"}},
			}}, nil
		},
	}
	conn := s.dial(t, "secret")
	p, err := conn.Producer(t.Context(), "t1")
	require.NoError(t, err)
	outcomes := make([]error, 2)
	require.NoError(t, p.Enqueue(t.Context(), []driver.Task{{Queue: "q0", Payload: []byte("a")}, {Queue: "q1", Payload: []byte("b")}}, outcomes))
	assert.Equal(t, []error{nil, nil}, outcomes)
	assert.Equal(t, "t1", enqueued.GetTenant())
	assert.Equal(t, "q1", enqueued.GetTasks()[1].GetQueue())

	w, err := conn.Worker(t.Context(), "t1", []string{"q0", "q1"}, 2)
	require.NoError(t, err)
	into := make([]driver.Delivery, 4)
	n, err := w.Claim(t.Context(), into)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Len(t, claims, 2, "an empty claim is repeated")
	assert.Equal(t, []string{"q0", "q1"}, claims[1].GetQueues())
	assert.EqualValues(t, 4, claims[1].GetMaxTasks())
	assert.EqualValues(t, 45_000, claims[1].GetLeaseMs())
	assert.EqualValues(t, 10_000, claims[1].GetWaitMs())
	assert.Equal(t, "t1", into[1].Tenant)
	assert.Equal(t, "q1", into[1].Queue)
	assert.Equal(t, "b", string(into[1].Payload))

	require.NoError(t, w.Complete(t.Context(), into[:2], outcomes))
	require.NoError(t, outcomes[0])
	golden.Cases(t, "testdata/cycle.golden").Error(t, "a stale token", outcomes[1])
	require.ErrorIs(t, outcomes[1], driver.ErrLeaseOver)
	assert.Equal(t, "t1", completed.GetTenant())
	assert.Equal(t, "1", completed.GetCompletions()[1].GetId())
	assert.EqualValues(t, 8, completed.GetCompletions()[1].GetToken())
	for _, token := range s.tokens {
		assert.Equal(t, "Bearer secret", token)
	}
	assert.Len(t, s.tokens, 4, "each call shows the token")
}

func TestRefusals(t *testing.T) {
	full := status.Error(codes.ResourceExhausted, "full")
	broken := status.Error(codes.Internal, "broken")
	answer := full
	s := &server{
		enqueue:  func(*queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) { return nil, answer },
		complete: func(*queuepb.CompleteRequest) (*queuepb.CompleteResponse, error) { return nil, answer },
		claim:    func(context.Context, *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) { return nil, answer },
	}
	conn := s.dial(t, "")
	p, err := conn.Producer(t.Context(), "t0")
	require.NoError(t, err)
	w, err := conn.Worker(t.Context(), "t0", []string{"q0"}, 1)
	require.NoError(t, err)
	claimed := []driver.Delivery{{Handle: &queuepb.Task{Id: "1"}}}
	outcomes := make([]error, 1)
	texts := golden.Cases(t, "testdata/refusals.golden")
	for name, call := range map[string]func() error{
		"enqueue":  func() error { return p.Enqueue(t.Context(), []driver.Task{{Queue: "q0"}}, outcomes) },
		"complete": func() error { return w.Complete(t.Context(), claimed, outcomes) },
	} {
		answer = full
		require.NoError(t, call(), name)
		texts.Error(t, name+" full", outcomes[0])
		answer = broken
		texts.Error(t, name+" broken", call())
	}
	_, err = w.Claim(t.Context(), make([]driver.Delivery, 1))
	texts.Error(t, "claim broken", err)
	assert.Empty(t, s.tokens)
}

func TestAnswersThatDoNotFit(t *testing.T) {
	s := &server{
		enqueue: func(*queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
			return &queuepb.EnqueueResponse{}, nil
		},
		complete: func(*queuepb.CompleteRequest) (*queuepb.CompleteResponse, error) {
			return &queuepb.CompleteResponse{}, nil
		},
		claim: func(context.Context, *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
			return &queuepb.ClaimResponse{Tasks: []*queuepb.Task{{}, {}}}, nil
		},
	}
	conn := s.dial(t, "")
	p, err := conn.Producer(t.Context(), "t0")
	require.NoError(t, err)
	w, err := conn.Worker(t.Context(), "t0", []string{"q0"}, 1)
	require.NoError(t, err)
	texts := golden.Cases(t, "testdata/answers.golden")
	texts.Error(t, "enqueue", p.Enqueue(t.Context(), make([]driver.Task, 1), make([]error, 1)))
	texts.Error(t, "complete", w.Complete(t.Context(), []driver.Delivery{{Handle: &queuepb.Task{}}}, make([]error, 1)))
	_, err = w.Claim(t.Context(), make([]driver.Delivery, 1))
	texts.Error(t, "claim", err)
	texts.Error(t, "another driver's task", w.Complete(t.Context(), []driver.Delivery{{Queue: "q0", Handle: 3}}, make([]error, 1)))
}

func TestAWaitingClaimIsCancelled(t *testing.T) {
	waiting := make(chan struct{})
	s := &server{claim: func(ctx context.Context, _ *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
		close(waiting)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	w, err := s.dial(t, "").Worker(t.Context(), "t0", []string{"q0"}, 1)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-waiting
		cancel()
	}()
	_, err = w.Claim(ctx, make([]driver.Delivery, 1))
	require.Equal(t, codes.Canceled, status.Code(err))
}

func TestACombinedCycle(t *testing.T) {
	texts := golden.Cases(t, "testdata/combined.golden")
	var claims []*queuepb.ClaimRequest
	answers := []*queuepb.ClaimResponse{
		{Tasks: []*queuepb.Task{{Id: "a", Token: 1}, {Id: "b", Token: 2}}},
		{
			Tasks:   []*queuepb.Task{{Id: "c", Token: 3, Payload: []byte("x")}},
			Results: []*queuepb.SettleResult{{}, {Error: &queuepb.ItemError{Index: 1, Code: queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN, Message: "too late"}}},
		},
		{
			Results:    []*queuepb.SettleResult{{Error: &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME, Message: "lost"}}, {}},
			ClaimError: &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE, Message: "no claim"},
		},
		{Tasks: []*queuepb.Task{{Id: "d"}}}, // from a server without combined calls
		nil,
	}
	s := &server{claim: func(_ context.Context, in *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
		claims = append(claims, in)
		if out := answers[len(claims)-1]; out != nil {
			return out, nil
		}
		return nil, status.Error(codes.Internal, "broken")
	}}
	w, err := s.dial(t, "").Worker(t.Context(), "t1", []string{"q0"}, 2)
	require.NoError(t, err)
	combiner, ok := w.(driver.Combiner)
	require.True(t, ok)
	done, into, outcomes := make([]driver.Delivery, 2), make([]driver.Delivery, 2), []error{nil, io.EOF}
	n, err := w.Claim(t.Context(), done)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Empty(t, claims[0].GetCompletions())

	n, err = combiner.CompleteAndClaim(t.Context(), done, outcomes, into)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	assert.Equal(t, "x", string(into[0].Payload))
	require.NoError(t, outcomes[0])
	require.ErrorIs(t, outcomes[1], driver.ErrLeaseOver)
	require.Len(t, claims, 2, "one call")
	assert.EqualValues(t, driver.CombinedWait.Milliseconds(), claims[1].GetWaitMs())
	assert.EqualValues(t, 45_000, claims[1].GetLeaseMs())
	assert.EqualValues(t, 2, claims[1].GetMaxTasks())
	assert.Equal(t, "t1", claims[1].GetTenant())
	require.Len(t, claims[1].GetCompletions(), 2)
	assert.Equal(t, "b", claims[1].GetCompletions()[1].GetId())
	assert.EqualValues(t, 2, claims[1].GetCompletions()[1].GetToken())

	n, err = combiner.CompleteAndClaim(t.Context(), done, outcomes, into)
	require.NoError(t, err, "the outcomes of the completions are known")
	require.Zero(t, n)
	require.ErrorIs(t, outcomes[0], driver.ErrUnknown)
	require.NoError(t, outcomes[1])
	n, err = combiner.CompleteAndClaim(t.Context(), done, outcomes, into)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.ErrorIs(t, outcomes[1], driver.ErrUnknown)
	_, err = combiner.CompleteAndClaim(t.Context(), done, outcomes, into)
	texts.Error(t, "a call that fails", err)
	_, err = combiner.CompleteAndClaim(t.Context(), []driver.Delivery{{Handle: 3}}, outcomes[:1], into)
	texts.Error(t, "another driver's task", err)
}

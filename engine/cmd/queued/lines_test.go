package main

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/pronybench/prony/engine/queuepb"
)

// storing is a queue service whose answers to enqueues come from a test.
type storing struct {
	queuepb.UnimplementedQueueServiceServer

	answer func(r *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error)
}

func (p *storing) Enqueue(ctx context.Context, in *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
	out, err := p.answer(in)
	if out == nil && err == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return out, err
}

func (p *storing) serve(t *testing.T) *shell {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer()
	queuepb.RegisterQueueServiceServer(g, p)
	var serving sync.WaitGroup
	serving.Go(func() { assert.NoError(t, g.Serve(l)) })
	t.Cleanup(func() {
		g.Stop()
		serving.Wait()
	})
	return newShell(t, "QUEUED_SERVER="+l.Addr().String())
}

// storesFirst stores the first task and refuses the others.
func storesFirst(r *queuepb.EnqueueRequest, refusal *queuepb.ItemError) *queuepb.EnqueueResponse {
	out := &queuepb.EnqueueResponse{Results: []*queuepb.EnqueueResult{{Id: "id"}}}
	for range r.GetTasks()[1:] {
		out.Results = append(out.Results, &queuepb.EnqueueResult{Error: refusal})
	}
	return out
}

func full(afterMs uint64) *queuepb.ItemError {
	return &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, Message: "full", RetryAfterMs: afterMs}
}

// refusedFor returns the status of a call that a server refuses for lack of memory, with a retry
// delay.
func refusedFor(t *testing.T, d time.Duration) error {
	t.Helper()
	s, err := status.New(codes.ResourceExhausted, "the server has no memory left").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(d)})
	require.NoError(t, err)
	return s.Err()
}

// The command repeats the lines that the server refused for lack of room or of a leader, and no
// others.
func TestLinesWaitForRoom(t *testing.T) {
	for _, later := range []*queuepb.ItemError{
		full(1), {Code: queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, Message: "no node leads"}, {Code: queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE, Message: "stopping"},
	} {
		var stored, keys []string
		refused := false
		p := &storing{answer: func(r *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
			assert.Equal(t, "acme", r.GetTenant())
			if !refused {
				refused = true
				return nil, refusedFor(t, time.Millisecond)
			}
			task := r.GetTasks()[0]
			stored = append(stored, string(task.GetPayload()))
			keys = append(keys, task.GetIdempotencyKey())
			out := storesFirst(r, later)
			out.Results[0].Duplicate = string(task.GetPayload()) == "b"
			return out, nil
		}}
		s := p.serve(t)
		s.in = "a\nb\nc\n"
		var out tally
		s.json(&out, "enqueue", "--queue", "q", "--lines", "--key", "k", "--tenant", "acme")
		assert.Equal(t, []string{"a", "b", "c"}, stored)
		assert.Equal(t, []string{"k:1", "k:2", "k:3"}, keys, "each line keeps its key over all tries")
		assert.Equal(t, tally{Enqueued: 2, Duplicates: 1, Refusals: []refusal{}}, out)
	}
}

// The command continues while some lines are accepted, whatever the total time.
func TestLinesArePatientWhileSomeGetIn(t *testing.T) {
	p := &storing{answer: func(r *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
		return storesFirst(r, full(6_000)), nil
	}}
	s := p.serve(t)
	at := time.Unix(0, 0)
	var waited time.Duration
	s.clock = clock{now: func() time.Time { return at }, pause: func(_ context.Context, d time.Duration) error {
		at, waited = at.Add(d), waited+d
		return nil
	}}
	s.in = strings.Repeat("x\n", 10)
	var out tally
	s.json(&out, "enqueue", "--queue", "q", "--lines", "--timeout", "10s")
	assert.EqualValues(t, 10, out.Enqueued)
	assert.GreaterOrEqual(t, waited, 6*time.Second, "the command respects the retry delays")
}

func TestLinesGiveUp(t *testing.T) {
	refuses := func(err error) func(*queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
		return func(*queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) { return nil, err }
	}
	answers := func(e ...*queuepb.EnqueueResult) func(*queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
		return func(*queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
			return &queuepb.EnqueueResponse{Results: e}, nil
		}
	}
	notLeading, err := status.New(codes.Unavailable, "no node leads").WithDetails(&queuepb.NotLeader{})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		answer func(r *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error)
		code   int
		says   string
	}{
		"always full":           {answers(&queuepb.EnqueueResult{Error: full(60_000)}), exitFailed, "line 1: the server has had no room for TIMEOUT"},
		"always no memory":      {refuses(refusedFor(t, time.Minute)), exitFailed, "line 1: the server has had no room for TIMEOUT"},
		"silent":                {refuses(nil), exitFailed, " did not answer within TIMEOUT: 0 tasks are enqueued, and 1 further one may be"},
		"refuses":               {refuses(status.Error(codes.PermissionDenied, "the token has no scope produce")), exitUsage, "queued: the token has no scope produce\n"},
		"does not lead":         {refuses(notLeading.Err()), exitUnreachable, "queued: no node leads\n"},
		"goes":                  {refuses(status.Error(codes.Unavailable, "the server is stopping")), exitUnreachable, "the server is stopping: 0 tasks are enqueued, and 1 further one may be"},
		"leaves one in doubt":   {answers(&queuepb.EnqueueResult{Error: &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME, Message: "the lead was lost"}}), exitFailed, "line 1: the lead was lost: 0 tasks are enqueued, and 1 further one may be"},
		"answers for no line":   {answers(), exitFailed, "the server answered with 0 results to 1 task: 0 tasks are enqueued, and 1 further one may be"},
		"refuses what is wrong": {answers(&queuepb.EnqueueResult{Error: &queuepb.ItemError{Code: queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT, Message: "no"}}), exitUsage, "1 line refused"},
	} {
		s := (&storing{answer: c.answer}).serve(t)
		s.in = "a\n"
		timeout, longest := patience, patience
		if strings.Contains(c.says, "TIMEOUT") {
			timeout = 50 * time.Millisecond // doubled until even a busy host connects within it
		}
		var r ran
		says := ""
		for ; ; timeout *= 2 {
			says = strings.ReplaceAll(c.says, "TIMEOUT", timeout.String())
			r = s.run("enqueue", "--queue", "q", "--lines", "--timeout", timeout.String())
			if strings.Contains(r.err, says) || timeout >= longest {
				break
			}
		}
		assert.Equal(t, c.code, r.code, "%s: %s", name, r.err)
		assert.Contains(t, r.err, says, name)
	}
}

func TestAPayloadOfAFolder(t *testing.T) {
	s := newShell(t, "QUEUED_SERVER=127.0.0.1:1")
	s.run("enqueue", "--queue", "q", "--file", t.TempDir()).fails(exitFailed, "read the payload: ")
	s.run("enqueue", "--queue", "q", "--lines", "--file", t.TempDir()+"/missing").fails(exitUsage, "--file: ")
	assert.NotPanics(t, func() { s.in = strings.Repeat("\n", 10); s.run("enqueue", "--queue", "q", "--lines") })
}

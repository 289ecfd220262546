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
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

// producer is a queue service whose stream answers as a test says.
type producer struct {
	queuepb.UnimplementedQueueServiceServer

	answer func(r *queuepb.ProduceRequest) (*queuepb.ProduceResponse, error)
}

func (p *producer) Produce(stream grpc.BidiStreamingServer[queuepb.ProduceRequest, queuepb.ProduceResponse]) error {
	for {
		in, err := stream.Recv()
		if err != nil {
			return nil //nolint:nilerr // the client went
		}
		out, err := p.answer(in)
		if err != nil {
			return err
		}
		if out == nil {
			<-stream.Context().Done()
			return nil
		}
		if err := stream.Send(out); err != nil {
			return nil //nolint:nilerr // the client went
		}
	}
}

func (p *producer) serve(t *testing.T) *shell {
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

func full(index int, afterMs uint64) *queuepb.ItemError {
	return &queuepb.ItemError{Index: uint32(index), Code: queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, Message: "full", RetryAfterMs: afterMs}
}

// What a server has no room for is sent again, and only that.
func TestLinesWaitForRoom(t *testing.T) {
	var stored, keys []string
	p := &producer{answer: func(r *queuepb.ProduceRequest) (*queuepb.ProduceResponse, error) {
		a := &queuepb.EnqueueAnswer{Frame: r.GetFrame()}
		for i, task := range r.GetTasks() {
			if i > 0 { // room for one only
				a.Errors = append(a.Errors, full(i, 1))
				continue
			}
			stored = append(stored, string(task.GetPayload()))
			keys = append(keys, task.GetIdempotencyKey())
			if string(task.GetPayload()) == "b" {
				a.Duplicates = []uint32{0}
			}
		}
		return &queuepb.ProduceResponse{Answers: []*queuepb.EnqueueAnswer{a}}, nil
	}}
	s := p.serve(t)
	s.in = "a\nb\nc\n"
	var out tally
	s.json(&out, "enqueue", "--queue", "q", "--lines", "--key", "k", "--tenant", "acme")
	assert.Equal(t, []string{"a", "b", "c"}, stored)
	assert.Equal(t, []string{"k:1", "k:2", "k:3"}, keys, "the key is the line's, however often it is sent")
	assert.Equal(t, tally{Enqueued: 2, Duplicates: 1, Refusals: []refusal{}}, out)
}

// As long as some lines get in, it goes on, however long all of them take.
func TestLinesArePatientWhileSomeGetIn(t *testing.T) {
	p := &producer{answer: func(r *queuepb.ProduceRequest) (*queuepb.ProduceResponse, error) {
		a := &queuepb.EnqueueAnswer{Frame: r.GetFrame()}
		for i := range r.GetTasks()[1:] {
			a.Errors = append(a.Errors, full(i+1, 6_000))
		}
		return &queuepb.ProduceResponse{Answers: []*queuepb.EnqueueAnswer{a}}, nil
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
	assert.GreaterOrEqual(t, waited, 6*time.Second, "it waited as long as it was told to")
}

func TestLinesGiveUp(t *testing.T) {
	answered := 0
	for name, c := range map[string]struct {
		answer func(r *queuepb.ProduceRequest) (*queuepb.ProduceResponse, error)
		code   int
		says   string
	}{
		"full for ever": {func(r *queuepb.ProduceRequest) (*queuepb.ProduceResponse, error) {
			return &queuepb.ProduceResponse{Answers: []*queuepb.EnqueueAnswer{{Frame: r.GetFrame(), Errors: []*queuepb.ItemError{full(0, 60_000)}}}}, nil
		}, exitFailed, "line 1: the server has had no room for TIMEOUT"},
		"silent": {
			func(*queuepb.ProduceRequest) (*queuepb.ProduceResponse, error) { return nil, nil },
			exitFailed, "the server did not answer within TIMEOUT: 0 tasks are enqueued, and 1 further one may be",
		},
		"refuses": {func(*queuepb.ProduceRequest) (*queuepb.ProduceResponse, error) {
			return nil, status.Error(codes.PermissionDenied, "the token has no scope produce")
		}, exitFailed, "the token has no scope produce"},
		"goes": {func(*queuepb.ProduceRequest) (*queuepb.ProduceResponse, error) {
			return nil, status.Error(codes.Unavailable, "the server is stopping")
		}, exitUnreachable, "the server is stopping: 0 tasks are enqueued, and 1 further one may be"},
		"answers another frame": {func(*queuepb.ProduceRequest) (*queuepb.ProduceResponse, error) {
			return &queuepb.ProduceResponse{Answers: []*queuepb.EnqueueAnswer{{Frame: 99}}}, nil
		}, exitFailed, "the server did not answer frame 1"},
		"names no item": {func(r *queuepb.ProduceRequest) (*queuepb.ProduceResponse, error) {
			if answered++; answered > 1 {
				return nil, status.Error(codes.Internal, "the line was sent again")
			}
			return &queuepb.ProduceResponse{Answers: []*queuepb.EnqueueAnswer{{Frame: r.GetFrame(), Errors: []*queuepb.ItemError{full(7, 0)}}}}, nil
		}, exitOK, ""},
	} {
		s := (&producer{answer: c.answer}).serve(t)
		s.in = "a\n"
		timeout, longest := patience, patience
		if strings.Contains(c.says, "TIMEOUT") {
			timeout = 50 * time.Millisecond // doubled until even a busy host connects in it
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

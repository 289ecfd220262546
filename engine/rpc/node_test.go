package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/internal/waittest"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = waittest.Most

// server is a node, with a connection made with gRPC's default options.
type server struct {
	*testing.T
	queuepb.QueueServiceClient

	node *node.Node
	conn *grpc.ClientConn
	ctx  context.Context
	stop func() // shuts the node down; may be called more than once
}

func serve(t *testing.T, change func(*node.Config)) *server {
	t.Helper()
	c := node.Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Admin: "127.0.0.1:0", Durability: storage.None, DiskLow: storage.SpaceMark{Set: true}}
	if strings.HasPrefix(t.Name(), severalShards) {
		c.Shards = 3
	}
	if change != nil {
		change(&c)
	}
	n, err := node.Open(c)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	stopped := false
	s := &server{T: t, node: n, ctx: ctx}
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		require.NoError(t, n.Shutdown(ctx))
	}
	s.conn, err = grpc.NewClient("passthrough:///"+n.Addresses()[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	s.QueueServiceClient = queuepb.NewQueueServiceClient(s.conn)
	t.Cleanup(func() {
		require.NoError(t, s.conn.Close())
		s.stop()
		cancel()
	})
	return s
}

// waitForClaim waits until a claim waits at the server.
func (s *server) waitForClaim() {
	s.Helper()
	require.Eventually(s, func() bool { return !strings.Contains(s.admin("/metrics"), "\nprony_subscribers 0\n") }, patience, time.Millisecond)
}

// waitForNoClaim waits until no claim waits.
func (s *server) waitForNoClaim() {
	s.Helper()
	require.Eventually(s, func() bool { return strings.Contains(s.admin("/metrics"), "\nprony_subscribers 0\n") }, patience, time.Millisecond, "a claim still waits")
}

// admin requests a path of the admin listener.
func (s *server) admin(path string) string {
	s.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	answer, err := http.Get("http://" + s.node.Admin() + path)
	require.NoError(s, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(s, errors.Join(err, answer.Body.Close()))
	return string(body)
}

// enqueue stores tasks, asserts that they are accepted, and returns their ids.
func (s *server) enqueue(tasks ...*queuepb.NewTask) []string {
	s.Helper()
	out, err := s.Enqueue(s.ctx, &queuepb.EnqueueRequest{Tasks: tasks})
	require.NoError(s, err)
	require.Len(s, out.GetResults(), len(tasks))
	ids := make([]string, len(tasks))
	for i, r := range out.GetResults() {
		require.Nil(s, r.GetError())
		require.NotEmpty(s, r.GetId())
		ids[i] = r.GetId()
	}
	return ids
}

// claim claims one task from a queue, waiting for it.
func (s *server) claim(queue string) *queuepb.Task {
	s.Helper()
	out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{queue}, WaitMs: 20_000})
	require.NoError(s, err)
	require.Len(s, out.GetTasks(), 1)
	return out.GetTasks()[0]
}

// claimNow returns up to n ready tasks.
func (s *server) claimNow(n uint32, queues ...string) []*queuepb.Task {
	s.Helper()
	out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: queues, MaxTasks: n})
	require.NoError(s, err)
	return out.GetTasks()
}

func (s *server) complete(task *queuepb.Task) *queuepb.ItemError {
	s.Helper()
	out, err := s.Complete(s.ctx, &queuepb.CompleteRequest{
		Completions: []*queuepb.Completion{{Id: task.GetId(), Token: task.GetToken()}},
	})
	require.NoError(s, err)
	require.Len(s, out.GetResults(), 1)
	return out.GetResults()[0].GetError()
}

func (s *server) fail(task *queuepb.Task, reason string, delayMs uint64) {
	s.Helper()
	out, err := s.Fail(s.ctx, &queuepb.FailRequest{
		Failures: []*queuepb.Failure{{Id: task.GetId(), Token: task.GetToken(), Error: reason, DelayMs: delayMs}},
	})
	require.NoError(s, err)
	require.Nil(s, out.GetResults()[0].GetError())
}

// look returns a task as GetTask shows it.
func (s *server) look(id string) *queuepb.Task {
	s.Helper()
	out, err := s.GetTask(s.ctx, &queuepb.GetTaskRequest{Id: id})
	require.NoError(s, err)
	return out.GetTask()
}

func requireCode(t *testing.T, want codes.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, status.Code(err), "%v", err)
}

// requireField asserts that a whole call was refused for one field.
func requireField(t *testing.T, field string, err error) {
	t.Helper()
	requireCode(t, codes.InvalidArgument, err)
	for _, d := range status.Convert(err).Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			require.Len(t, bad.GetFieldViolations(), 1)
			assert.Equal(t, field, bad.GetFieldViolations()[0].GetField())
			assert.NotEmpty(t, bad.GetFieldViolations()[0].GetDescription())
			return
		}
	}
	t.Errorf("no BadRequest detail in %v", err)
}

func requireItemError(t *testing.T, e *queuepb.ItemError, code queuepb.ErrorCode, field string) {
	t.Helper()
	require.NotNil(t, e)
	assert.Equal(t, code, e.GetCode(), "%s", e.GetMessage())
	assert.Equal(t, field, e.GetField())
	assert.NotEmpty(t, e.GetMessage())
}

func newTasks(queue string, n int) []*queuepb.NewTask {
	tasks := make([]*queuepb.NewTask, n)
	for i := range tasks {
		tasks[i] = &queuepb.NewTask{Queue: queue, Payload: fmt.Appendf(nil, "%d", i)}
	}
	return tasks
}

func payloads(tasks []*queuepb.Task) []string {
	out := make([]string, len(tasks))
	for i, t := range tasks {
		out[i] = string(t.GetPayload())
	}
	return out
}

const (
	codeInvalid   = queuepb.ErrorCode_ERROR_CODE_INVALID_ARGUMENT
	codeStale     = queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN
	codeNotFound  = queuepb.ErrorCode_ERROR_CODE_NOT_FOUND
	codeCancelled = queuepb.ErrorCode_ERROR_CODE_CANCELLED
)

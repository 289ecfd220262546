package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

func TestTheFieldsOfDependenciesAreSent(t *testing.T) {
	seen := make(chan *queuepb.NewTask, 2)
	f := &fake{produce: func(s produceServer) error {
		in, err := s.Recv()
		if err != nil {
			return err
		}
		seen <- in.GetTasks()[0]
		return status.Error(codes.Unavailable, "again")
	}}
	c := dial(t, f.listen(t), client.WithRetryMax(time.Millisecond))
	p := opened(t, func() (*client.Producer, error) { return c.Producer(bounded(t), "") })
	task := client.Task{Queue: "q", After: []string{"a", "b\xff"}, BatchSize: 3, Batch: "f\xff", DeadDependency: client.DieToo}
	_, err := p.Enqueue(bounded(t), task)
	require.Error(t, err)
	got := <-seen
	assert.Equal(t, []string{"a", "b\uFFFD"}, got.GetAfter())
	assert.Equal(t, []any{uint32(3), "f\uFFFD", queuepb.DeadDependency_DEAD_DEPENDENCY_DIE}, []any{got.GetBatchSize(), got.GetBatch(), got.GetDeadDependency()})
	assert.Equal(t, []string{"a", "b\xff"}, task.After)
	require.NoError(t, p.Close(bounded(t)))
}

func TestATaskWaitsForAnother(t *testing.T) {
	c, _ := realServer(t)
	ctx := bounded(t)
	p, err := c.Producer(ctx, "")
	require.NoError(t, err)
	first, err := p.Enqueue(ctx, client.Task{Queue: "q"})
	require.NoError(t, err)
	later, err := p.Enqueue(ctx, client.Task{Queue: "later", After: []string{first}, DeadDependency: client.RunAnyway})
	require.NoError(t, err)
	out, err := c.API().GetTask(ctx, &queuepb.GetTaskRequest{Id: later})
	require.NoError(t, err)
	assert.EqualValues(t, 1, out.GetTask().GetWaitingFor())
	w, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"q", "later"}, Slots: 1})
	require.NoError(t, err)
	task := receive(ctx, t, w)
	assert.Equal(t, first, task.GetId())
	require.NoError(t, w.FailPermanently(ctx, task, "no"))
	task = receive(ctx, t, w)
	assert.Equal(t, later, task.GetId())
	for d, err := range c.Dependencies(ctx, "", later) {
		require.NoError(t, err)
		assert.Equal(t, first, d.GetId())
		assert.Equal(t, queuepb.DependencyOutcome_DEPENDENCY_OUTCOME_DEAD, d.GetOutcome())
	}
	require.NoError(t, w.Complete(ctx, task))
	for _, err := range c.Dependencies(ctx, "", later) {
		require.ErrorIs(t, err, client.ErrNotFound)
	}
	require.NoError(t, w.Close(ctx))
	require.NoError(t, p.Close(ctx))
}

// A batch of several frames, whose first try was cut off, is stored once by a second call.
func TestABatchIsStoredOnce(t *testing.T) {
	c, _ := realServer(t)
	ctx := bounded(t)
	p, err := c.Producer(ctx, "")
	require.NoError(t, err)
	final := client.Task{Queue: "final", Key: "album-7"}
	members := make([]client.Task, 2_500)
	for i := range members {
		members[i] = client.Task{Queue: fmt.Sprint("members-", i%3), Payload: []byte(fmt.Sprint(i))}
	}
	broken := append([]client.Task{}, members...)
	broken[1_200].Priority = 10
	id, stored, err := p.EnqueueWithFinal(ctx, final, broken)
	require.ErrorIs(t, err, client.ErrInvalidArgument)
	require.ErrorContains(t, err, "enqueue member 1200: priority")
	assert.Len(t, stored, 1_000)
	again, ids, err := p.EnqueueWithFinal(ctx, final, members)
	require.NoError(t, err)
	assert.Equal(t, id, again)
	assert.Equal(t, stored, ids[:1_000])
	assert.Len(t, ids, 2_500)
	out, err := c.API().GetTask(ctx, &queuepb.GetTaskRequest{Id: id})
	require.NoError(t, err)
	assert.EqualValues(t, 2_500, out.GetTask().GetWaitingFor())

	w, err := c.Worker(ctx, client.WorkerConfig{Queues: []string{"members-0", "members-1", "members-2", "final"}, Slots: 1_000})
	require.NoError(t, err)
	seen := map[string]bool{}
	for range members {
		task := receive(ctx, t, w)
		require.NotEqual(t, id, task.GetId(), "it waits for its members")
		seen[task.GetId()] = true
		require.NoError(t, w.CompleteWith(ctx, task, task.GetPayload()))
	}
	assert.Len(t, seen, 2_500)
	last := receive(ctx, t, w)
	assert.Equal(t, id, last.GetId())
	results := map[string]string{}
	for d, err := range c.Dependencies(ctx, "", id) {
		require.NoError(t, err)
		results[d.GetId()] = string(d.GetResult())
	}
	for i, member := range ids {
		require.Equal(t, fmt.Sprint(i), results[member])
	}
	require.NoError(t, w.Complete(ctx, last))

	// Without a key, a second call stores another batch.
	one, _, err := p.EnqueueWithFinal(ctx, client.Task{Queue: "final"}, members[:1])
	require.NoError(t, err)
	two, _, err := p.EnqueueWithFinal(ctx, client.Task{Queue: "final"}, members[:1])
	require.NoError(t, err)
	assert.NotEqual(t, one, two)
	require.NoError(t, w.Close(ctx))
	require.NoError(t, p.Close(ctx))
}

func TestTheSizeOfABatchIsChecked(t *testing.T) {
	c, _ := realServer(t)
	p, err := c.Producer(bounded(t), "")
	require.NoError(t, err)
	for _, n := range []int{0, client.MembersMax + 1} {
		_, _, err := p.EnqueueWithFinal(bounded(t), client.Task{Queue: "q"}, make([]client.Task, n))
		require.ErrorIs(t, err, client.ErrInvalidArgument)
		require.ErrorContains(t, err, fmt.Sprintf("members: invalid argument: a batch of %d: pass 1 to 100000", n))
	}
	_, _, err = p.EnqueueWithFinal(bounded(t), client.Task{Queue: "q", Key: "k", Unique: &client.Unique{Conflict: client.ReplaceWaiting}}, make([]client.Task, 1))
	require.ErrorContains(t, err, "final: invalid argument: a second call could not find the final task of the first")
	_, _, err = p.EnqueueWithFinal(bounded(t), client.Task{Queue: "q"}, []client.Task{{Queue: "q"}, {Queue: "q", Key: "k", Unique: &client.Unique{Scope: client.UntilFinished}}})
	require.ErrorContains(t, err, "member 1: invalid argument: a second call could store it twice")
	_, _, err = p.EnqueueWithFinal(bounded(t), client.Task{Queue: "bad queue/%"}, make([]client.Task, 1))
	require.ErrorContains(t, err, "enqueue the final task: queue")
	require.NoError(t, p.Close(bounded(t)))
}

func TestMembersAreSentInFramesOfBoundedBytes(t *testing.T) {
	frames := make(chan int, 10)
	f := &fake{produce: func(s produceServer) error {
		for {
			in, err := s.Recv()
			if err != nil {
				return err
			}
			frames <- len(in.GetTasks())
			ids := strings.Split(strings.Repeat("id ", len(in.GetTasks())), " ")[:len(in.GetTasks())]
			if err := s.Send(&queuepb.ProduceResponse{Answers: []*queuepb.EnqueueAnswer{{Frame: in.GetFrame(), Ids: ids}}}); err != nil {
				return err
			}
		}
	}}
	c := f.serve(t)
	p, err := c.Producer(bounded(t), "")
	require.NoError(t, err)
	large := client.Task{Queue: "q", Payload: make([]byte, 3<<20)}
	_, ids, err := p.EnqueueWithFinal(bounded(t), client.Task{Queue: "q"}, []client.Task{large, large, {Queue: "q"}})
	require.NoError(t, err)
	assert.Len(t, ids, 3)
	require.NoError(t, p.Close(bounded(t)))
	for _, want := range []int{1, 1, 2} {
		assert.Equal(t, want, <-frames)
	}
}

// stuttering fails every second call of ListDependencies.
type stuttering struct {
	queuepb.UnimplementedQueueServiceServer

	calls int
}

func (s *stuttering) ListDependencies(_ context.Context, in *queuepb.ListDependenciesRequest) (*queuepb.ListDependenciesResponse, error) {
	if s.calls++; s.calls%2 == 1 {
		return nil, status.Error(codes.Unavailable, "the server stops")
	}
	if in.GetPageToken() == "2" {
		return nil, status.Error(codes.PermissionDenied, "no")
	}
	next := map[string]string{"": "1", "1": "2"}[in.GetPageToken()]
	return &queuepb.ListDependenciesResponse{Dependencies: []*queuepb.Dependency{{Id: "id" + in.GetPageToken()}}, NextPageToken: next}, nil
}

func TestDependenciesAreListedPageByPage(t *testing.T) {
	s := &stuttering{}
	c := serveUnary(t, s)
	var ids []string
	var last error
	for d, err := range c.Dependencies(bounded(t), "", "x") {
		if last = errors.Join(last, err); err == nil {
			ids = append(ids, d.GetId())
		}
	}
	require.ErrorContains(t, last, "list the dependencies of task x: ")
	require.ErrorContains(t, last, "no")
	assert.Equal(t, []string{"id", "id1"}, ids)
	calls := s.calls
	for d, err := range c.Dependencies(bounded(t), "", "x") {
		require.NoError(t, err)
		assert.Equal(t, "id", d.GetId())
		break
	}
	assert.Equal(t, calls+2, s.calls, "it asks for a page only when it is needed")
}

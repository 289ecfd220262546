package rpc_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/shard"
)

func requireUnknownOutcome(t *testing.T, err error) {
	t.Helper()
	requireCode(t, codes.Aborted, err)
	require.Len(t, status.Convert(err).Details(), 1)
	require.IsType(t, &queuepb.UnknownOutcome{}, status.Convert(err).Details()[0])
}

func TestRoutes(t *testing.T) {
	c := startNodes(t, 2, 3)
	c.leads("n1", "n2")
	out, err := c.all[0].queues().GetRoutes(c.as("producer"), &queuepb.GetRoutesRequest{})
	require.NoError(t, err)
	require.Len(t, out.GetRoutes(), 3)
	for i, want := range []*queuepb.Route{
		{Shard: 0, Node: "n1", Address: c.all[0].address, Here: true},
		{Shard: 1, Node: "n2", Address: c.all[1].address},
		{Shard: 2},
	} {
		assert.Equal(t, want.String(), out.GetRoutes()[i].String())
	}
	alone := serve(t, nil)
	out, err = alone.GetRoutes(alone.ctx, &queuepb.GetRoutesRequest{})
	require.NoError(t, err)
	require.Len(t, out.GetRoutes(), 1)
	assert.Equal(t, (&queuepb.Route{Here: true}).String(), out.GetRoutes()[0].String())
}

// An elected node does not name itself as the leader before it serves the shard.
func TestRoutesNameWhoServesAShard(t *testing.T) {
	c := startNodes(t, 2, 1)
	elected := "n1"
	c.all[0].believes.Store(&elected)
	out, err := c.all[0].queues().GetRoutes(c.as("producer"), &queuepb.GetRoutesRequest{})
	require.NoError(t, err)
	assert.Equal(t, "n1", out.GetNode())
	assert.Equal(t, (&queuepb.Route{}).String(), out.GetRoutes()[0].String())
	c.leads("n1")
	out, err = c.all[0].queues().GetRoutes(c.as("producer"), &queuepb.GetRoutesRequest{})
	require.NoError(t, err)
	assert.True(t, out.GetRoutes()[0].GetHere())
}

func TestRoutesWaitUntilTheyChange(t *testing.T) {
	c := startNodes(t, 2, 1)
	c.leads("n1")
	at := c.all[1].queues()
	const long = 50_000 // longer than the test's timeout
	first, err := at.GetRoutes(c.as("producer"), &queuepb.GetRoutesRequest{WaitMs: long})
	require.NoError(t, err, "version 0 is answered immediately")
	same, err := at.GetRoutes(c.as("producer"), &queuepb.GetRoutesRequest{Version: first.GetVersion(), WaitMs: 1})
	require.NoError(t, err)
	assert.Equal(t, first.String(), same.String(), "the wait ended without a change")
	same, err = at.GetRoutes(c.as("producer"), &queuepb.GetRoutesRequest{Version: first.GetVersion()})
	require.NoError(t, err)
	assert.Equal(t, first.String(), same.String(), "the caller does not wait")
	changed := make(chan *queuepb.GetRoutesResponse, 1)
	go func() {
		out, err := at.GetRoutes(c.as("producer"), &queuepb.GetRoutesRequest{Version: first.GetVersion(), WaitMs: long})
		assert.NoError(t, err)
		changed <- out
	}()
	select {
	case <-changed:
		require.Fail(t, "it did not wait")
	case <-time.After(100 * time.Millisecond):
	}
	c.leads("n2")
	out := <-changed
	assert.Equal(t, "n2", out.GetRoutes()[0].GetNode())
	assert.True(t, out.GetRoutes()[0].GetHere())
	assert.NotEqual(t, first.GetVersion(), out.GetVersion())
	_, err = at.GetRoutes(c.as("producer"), &queuepb.GetRoutesRequest{WaitMs: 1 << 40})
	requireCode(t, codes.InvalidArgument, err)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_, err := at.GetRoutes(c.as("producer"), &queuepb.GetRoutesRequest{Version: out.GetVersion(), WaitMs: long})
		assert.NoError(t, err)
	}()
	c.all[1].service.Stop()
	<-stopped
}

func TestStreamsEndAtOnceWhereNothingIsLed(t *testing.T) {
	c := startNodes(t, 2, 2)
	c.leads("", "n2")
	produce, err := c.all[0].queues().Produce(c.as("t0"))
	require.NoError(t, err)
	_, err = produce.Recv()
	detail := requireNotLeader(t, err)
	assert.Equal(t, "n2", detail.GetNode())
	assert.Equal(t, c.all[1].address, detail.GetAddress())
	work, err := c.all[0].queues().Work(c.as("t0"))
	require.NoError(t, err)
	_, err = work.Recv()
	assert.Equal(t, c.all[1].address, requireNotLeader(t, err).GetAddress())
	assert.False(t, detail.GetRoutesChanged())
}

// producing opens a Produce stream, and returns a function that sends a frame and one that returns
// the next answer.
func (n *clusterNode) producing() (queuepb.QueueService_ProduceClient, func(...*queuepb.NewTask), func() *queuepb.EnqueueAnswer) {
	n.nodes.Helper()
	stream, err := n.queues().Produce(n.nodes.as("t0"))
	require.NoError(n.nodes, err)
	var frame uint64
	var answers []*queuepb.EnqueueAnswer
	send := func(tasks ...*queuepb.NewTask) {
		n.nodes.Helper()
		frame++
		require.NoError(n.nodes, stream.Send(&queuepb.ProduceRequest{Frame: frame, Tasks: tasks}))
	}
	answer := func() *queuepb.EnqueueAnswer {
		n.nodes.Helper()
		for len(answers) == 0 {
			out, err := stream.Recv()
			require.NoError(n.nodes, err)
			answers = out.GetAnswers()
		}
		a := answers[0]
		answers = answers[1:]
		return a
	}
	return stream, send, answer
}

func TestAProduceStreamEndsOnceItsNodeLeadsNothing(t *testing.T) {
	c := startNodes(t, 2, 1)
	c.lead(0, "n1")
	stream, send, answer := c.all[0].producing()
	send(newTasks("q", 2)...)
	assert.Empty(t, answer().GetErrors())

	// A frame that is active when the lead is lost has an unknown outcome.
	c.logs[0].holdOn()
	send(newTasks("q", 2)...)
	c.logs[0].waits(t)
	c.logs[0].letGo(shard.ErrUnknownOutcome)
	a := answer()
	require.Len(t, a.GetErrors(), 2)
	for i, e := range a.GetErrors() {
		requireItemError(t, e, codeUnknown, "")
		assert.EqualValues(t, i, e.GetIndex())
	}
	c.lead(0, "n2")
	send(append(newTasks("q", 2), &queuepb.NewTask{})...)
	a = answer()
	require.Len(t, a.GetErrors(), 3)
	requireItemError(t, a.GetErrors()[0], codeInvalid, "queue")
	for _, e := range a.GetErrors()[1:] {
		requireItemError(t, e, codeNotLeader, "")
		assert.Equal(t, c.all[1].address, e.GetLeader())
	}
	_, err := stream.Recv()
	assert.Equal(t, "n2", requireNotLeader(t, err).GetNode())
}

// A stream of a node that leads other shards refuses tasks of shards that it does not lead, and
// continues.
func TestAProduceStreamSaysWhereATaskBelongs(t *testing.T) {
	c := startNodes(t, 2, 2)
	c.leads("n1", "n2")
	stream, send, answer := c.all[0].producing()
	tasks := make([]*queuepb.NewTask, 20)
	for i := range tasks {
		tasks[i] = &queuepb.NewTask{Queue: "q", IdempotencyKey: string(rune('a' + i))}
	}
	for range 2 {
		send(tasks...)
		a := answer()
		require.NotEmpty(t, a.GetErrors())
		require.Less(t, len(a.GetErrors()), 20)
		for _, e := range a.GetErrors() {
			requireItemError(t, e, codeNotLeader, "")
			assert.Equal(t, c.all[1].address, e.GetLeader())
			assert.Empty(t, a.GetIds()[e.GetIndex()])
		}
	}
	require.NoError(t, stream.CloseSend())
	_, err := stream.Recv()
	require.NoError(t, endOf(err))
}

func (n *clusterNode) working(credits uint32) queuepb.QueueService_WorkClient {
	n.nodes.Helper()
	stream, err := n.queues().Work(n.nodes.as("t0"))
	require.NoError(n.nodes, err)
	require.NoError(n.nodes, stream.Send(&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Queues: []string{"q"}}, Credits: credits}))
	return stream
}

// received reads a stream until the given number of tasks and answers has arrived, or the stream
// ends.
func received(t *testing.T, stream queuepb.QueueService_WorkClient, tasks, answers int) (got *queuepb.WorkResponse, err error) {
	t.Helper()
	got = &queuepb.WorkResponse{}
	for len(got.GetTasks()) < tasks || len(got.GetAnswers()) < answers {
		out, err := stream.Recv()
		if err != nil {
			return got, err
		}
		got.Tasks = append(got.Tasks, out.GetTasks()...)
		got.Answers = append(got.Answers, out.GetAnswers()...)
	}
	return got, nil
}

func completing(frame uint64, tasks ...*queuepb.Task) *queuepb.WorkRequest {
	in := &queuepb.WorkRequest{Frame: frame}
	for _, task := range tasks {
		in.Settlements = append(in.Settlements, &queuepb.Settlement{Id: task.GetId(), Token: task.GetToken(), Action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE})
	}
	return in
}

func TestAWorkStreamAnswersAndEndsOnceItsShardIsLost(t *testing.T) {
	c := startNodes(t, 2, 1)
	c.lead(0, "n1")
	c.all[0].put(newTasks("q", 3)...)
	stream := c.all[0].working(3)
	got, err := received(t, stream, 3, 0)
	require.NoError(t, err)
	require.NoError(t, stream.Send(completing(1, got.GetTasks()[0])))
	_, err = received(t, stream, 0, 1)
	require.NoError(t, err)

	c.logs[0].holdOn()
	require.NoError(t, stream.Send(completing(2, got.GetTasks()[1])))
	c.logs[0].waits(t)
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		c.lead(0, "n2")
	}()
	c.logs[0].letGo(shard.ErrUnknownOutcome)
	answered, err := received(t, stream, 0, 1)
	require.NoError(t, err)
	assert.EqualValues(t, 2, answered.GetAnswers()[0].GetFrame())
	require.Len(t, answered.GetAnswers()[0].GetErrors(), 1)
	requireItemError(t, answered.GetAnswers()[0].GetErrors()[0], codeUnknown, "")
	_, err = stream.Recv()
	requireNotLeader(t, err)
	<-lost

	// A task leased by the stream is settled at the new leader.
	out, err := c.all[0].queues().Complete(c.as("t0"), &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: got.GetTasks()[2].GetId(), Token: got.GetTasks()[2].GetToken()}}})
	require.NoError(t, err)
	assert.Nil(t, out.GetResults()[0].GetError())
}

func TestAWorkStreamEndsOnceItsNodeLeadsMore(t *testing.T) {
	c := startNodes(t, 2, 2)
	c.leads("n1", "n2")
	c.all[0].put(newTasks("q", 1)...)
	stream := c.all[0].working(8)
	got, err := received(t, stream, 1, 0)
	require.NoError(t, err)
	c.logs[0].holdOn()
	require.NoError(t, stream.Send(completing(1, got.GetTasks()[0])))
	c.logs[0].waits(t)
	c.lead(1, "n1") // before the answer
	c.logs[0].letGo(nil)
	answered, err := received(t, stream, 0, 1)
	require.NoError(t, err)
	assert.Empty(t, answered.GetAnswers()[0].GetErrors())
	_, err = stream.Recv()
	detail := requireNotLeader(t, err)
	assert.True(t, detail.GetRoutesChanged())
}

// Tasks leased to an ending stream are sent first: none waits for its lease to expire.
func TestNothingIsLeasedInVainToAStreamThatEnds(t *testing.T) {
	c := startNodes(t, 2, 2)
	c.leads("n1", "n2")
	c.all[0].put(newTasks("q", 1)...)
	stream := c.all[0].working(8)
	_, err := received(t, stream, 1, 0)
	require.NoError(t, err)
	c.logs[0].holdOn()
	put := make(chan struct{})
	go func() {
		defer close(put)
		c.all[0].put(newTasks("q", 3)...)
	}()
	c.logs[0].waits(t) // the tasks, and perhaps their leases too
	c.lead(1, "n1")
	type end struct {
		got *queuepb.WorkResponse
		err error
	}
	ended := make(chan end, 1)
	go func() {
		got, err := received(t, stream, 4, 0)
		ended <- end{got, err}
	}()
	select {
	case <-ended:
		require.Fail(t, "the stream ended before its leased tasks arrived")
	case <-time.After(50 * time.Millisecond): // long enough for a premature end
	}
	c.logs[0].letGo(nil)
	e := <-ended
	got := e.got
	detail := requireNotLeader(t, e.err)
	assert.True(t, detail.GetRoutesChanged())
	<-put
	ready, err := c.all[0].admins().GetQueue(c.as("t0"), &adminpb.GetQueueRequest{Queue: "q"})
	require.NoError(t, err)
	assert.EqualValues(t, 3-len(got.GetTasks()), ready.GetQueue().GetReady(), "the remaining tasks are ready")
}

// A unary call that is active when the lead is lost is refused with an unknown outcome, and never
// repeated.
func TestUnknownOutcomesOfCalls(t *testing.T) {
	for _, at := range []int{0, 1} {
		c := startNodes(t, 2, 1)
		c.lead(0, "n1")
		c.logs[0].holdOn()
		refused := make(chan error, 1)
		go func() {
			_, err := c.all[at].queues().Enqueue(c.as("t0"), &queuepb.EnqueueRequest{Tasks: newTasks("q", 2)})
			refused <- err
		}()
		c.logs[0].waits(t)
		c.logs[0].letGo(shard.ErrUnknownOutcome)
		requireUnknownOutcome(t, <-refused)
	}
}

func endOf(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// In a batch over several shards of one node, only the part whose lead is lost has an unknown
// outcome.
func TestABatchOverShardsOfWhichOneIsLost(t *testing.T) {
	c := startNodes(t, 2, 2)
	c.leads("n1", "n1")
	for _, at := range []int{0, 1} {
		c.all[0].put(newTasks("q", 1)...)
		c.all[0].put(newTasks("q", 1)...)
		in := &queuepb.CompleteRequest{}
		lost := 0 // the index of the item whose shard loses its lead
		for i, task := range c.all[1].take(2, 0) {
			in.Completions = append(in.Completions, &queuepb.Completion{Id: task.GetId(), Token: task.GetToken()})
			if shardOf(t, task.GetId()) == 0 {
				lost = i
			}
		}
		require.Len(t, in.GetCompletions(), 2)
		c.logs[0].holdOn()
		done := make(chan []*queuepb.SettleResult, 1)
		go func() {
			out, err := c.all[at].queues().Complete(c.as("t0"), in)
			assert.NoError(t, err)
			done <- out.GetResults()
		}()
		c.logs[0].waits(t)
		c.logs[0].letGo(shard.ErrUnknownOutcome)
		results := <-done
		require.Len(t, results, 2)
		requireItemError(t, results[lost].GetError(), codeUnknown, "")
		assert.Nil(t, results[1-lost].GetError())
		c.lead(0, "n1") // a new lead, since the shard that lost its lead accepts nothing
	}
}

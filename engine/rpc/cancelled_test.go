package rpc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// settlingCalls returns the unary calls that settle or extend a task.
func settlingCalls(ctx context.Context, api queuepb.QueueServiceClient, t *queuepb.Task) map[string]func() (settleResults, error) {
	id, token := t.GetId(), t.GetToken()
	return map[string]func() (settleResults, error){
		"Complete": func() (settleResults, error) {
			return api.Complete(ctx, &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: id, Token: token}}})
		},
		"Fail": func() (settleResults, error) {
			return api.Fail(ctx, &queuepb.FailRequest{Failures: []*queuepb.Failure{{Id: id, Token: token}}})
		},
		"Release": func() (settleResults, error) {
			return api.Release(ctx, &queuepb.ReleaseRequest{Releases: []*queuepb.Releasing{{Id: id, Token: token}}})
		},
		"Extend": func() (settleResults, error) {
			return api.Extend(ctx, &queuepb.ExtendRequest{Extensions: []*queuepb.Extension{{Id: id, Token: token, LeaseMs: 1_000}}})
		},
		"Claim": func() (settleResults, error) {
			return api.Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"none"}, Completions: []*queuepb.Completion{{Id: id, Token: token}}})
		},
	}
}

type settleResults interface {
	GetResults() []*queuepb.SettleResult
}

func requireSettledAs(t *testing.T, code queuepb.ErrorCode, calls map[string]func() (settleResults, error)) {
	t.Helper()
	for name, settle := range calls {
		out, err := settle()
		require.NoError(t, err, name)
		require.Len(t, out.GetResults(), 1, name)
		require.Equal(t, code, out.GetResults()[0].GetError().GetCode(), name)
	}
}

// The stream that holds a cancelled lease gets it, and no other stream does. Each form of settlement
// is refused as cancelled.
func TestTheHolderOfACancelledLeaseIsTold(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	ids := s.enqueue(newTasks("q", 2)...)
	holder := s.work(1, "q")
	task := holder.take(1)[0]
	other := s.work(1, "q")
	kept := other.take(1)[0]
	out, err := admin.CancelTasks(s.ctx, &adminpb.CancelTasksRequest{Ids: ids[:1]})
	require.NoError(t, err)
	require.Nil(t, out.GetResults()[0].GetError())
	require.Equal(t, ids[0], task.GetId())
	holder.until(func() bool { return len(holder.cancelled) > 0 })
	require.Len(t, holder.cancelled, 1)
	assert.Equal(t, task.GetId(), holder.cancelled[0].GetId())
	assert.Equal(t, task.GetToken(), holder.cancelled[0].GetToken())

	requireSettledAs(t, codeCancelled, settlingCalls(s.ctx, s, task))
	for action := range queuepb.SettleAction_name {
		if action > 0 {
			holder.send(&queuepb.WorkRequest{Frame: 7, Settlements: []*queuepb.Settlement{
				{Id: task.GetId(), Token: task.GetToken(), Action: queuepb.SettleAction(action), LeaseMs: 1_000},
			}})
			requireItemError(t, holder.answer().GetErrors()[0], codeCancelled, "")
		}
	}
	other.send(&queuepb.WorkRequest{Frame: 7, Settlements: []*queuepb.Settlement{completion(kept)}})
	assert.Empty(t, other.answer().GetErrors())
	assert.Empty(t, other.cancelled)
}

// A cancellation reaches the stream at the shard's leader, whichever node receives the call. Each
// node refuses the lease as cancelled until another node leads the shard.
func TestACancellationByAnotherNodeReachesTheHolder(t *testing.T) {
	c := startNodes(t, 3, 2)
	c.leads("n1", "n2")
	var tasks []*queuepb.Task
	var streams []*workStream
	for _, id := range []string{"n1", "n2"} {
		n := c.node(id)
		n.put(newTasks("q", 1)...)
		stream, err := n.queues().Work(c.as("t0"))
		require.NoError(t, err)
		w := &workStream{T: t, BidiStreamingClient: stream}
		w.send(&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Queues: []string{"q"}}, Credits: 1})
		tasks, streams = append(tasks, w.take(1)[0]), append(streams, w)
	}
	out, err := c.node("n3").admins().CancelTasks(c.as("t0"), &adminpb.CancelTasksRequest{Ids: []string{tasks[0].GetId(), tasks[1].GetId()}})
	require.NoError(t, err)
	for i, w := range streams {
		require.Nil(t, out.GetResults()[i].GetError())
		w.until(func() bool { return len(w.cancelled) > 0 })
		require.Len(t, w.cancelled, 1)
		assert.Equal(t, tasks[i].GetId(), w.cancelled[0].GetId())
		assert.Equal(t, tasks[i].GetToken(), w.cancelled[0].GetToken())
	}
	for _, n := range c.all {
		requireSettledAs(t, codeCancelled, settlingCalls(c.as("t0"), n.queues(), tasks[0]))
	}
	c.leads("n3", "n2")
	for _, n := range c.all {
		requireSettledAs(t, codeStale, settlingCalls(c.as("t0"), n.queues(), tasks[0]))
	}
}

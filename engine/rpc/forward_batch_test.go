package rpc_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// batchTask is a task of a batch, and whether its shard should refuse the call on it.
type batchTask struct {
	*queuepb.Task

	refused bool
}

// batchesOfItems returns the calls with items of several shards, by name. A settling call passes a
// stale token for a task that should be refused.
func batchesOfItems(t *testing.T, c *nodes) map[string]func(tasks []batchTask) []*queuepb.SettleResult {
	n, as := c.all[0], c.as("t0")
	send := webOf(t, n)
	token := func(b batchTask) uint64 {
		if b.refused {
			return b.GetToken() + 1_000_000
		}
		return b.GetToken()
	}
	ids := func(tasks []batchTask) (ids []string) {
		for _, b := range tasks {
			ids = append(ids, b.GetId())
		}
		return ids
	}
	completions := func(tasks []batchTask) (in []*queuepb.Completion) {
		for _, b := range tasks {
			in = append(in, &queuepb.Completion{Id: b.GetId(), Token: token(b)})
		}
		return in
	}
	return map[string]func(tasks []batchTask) []*queuepb.SettleResult{
		"Complete": func(tasks []batchTask) []*queuepb.SettleResult {
			out, err := n.queues().Complete(as, &queuepb.CompleteRequest{Completions: completions(tasks)})
			require.NoError(t, err)
			return out.GetResults()
		},
		"Complete by REST": func(tasks []batchTask) []*queuepb.SettleResult {
			in, err := protojson.Marshal(&queuepb.CompleteRequest{Completions: completions(tasks)})
			require.NoError(t, err)
			code, _, text := send(c.tokens["t0"], http.MethodPost, "/queue/v1/tasks:complete", string(in))
			require.Equal(t, http.StatusOK, code, text)
			out := &queuepb.CompleteResponse{}
			require.NoError(t, protojson.Unmarshal([]byte(text), out))
			return out.GetResults()
		},
		"Fail": func(tasks []batchTask) []*queuepb.SettleResult {
			in := &queuepb.FailRequest{}
			for _, b := range tasks {
				in.Failures = append(in.Failures, &queuepb.Failure{Id: b.GetId(), Token: token(b)})
			}
			out, err := n.queues().Fail(as, in)
			require.NoError(t, err)
			return out.GetResults()
		},
		"Release": func(tasks []batchTask) []*queuepb.SettleResult {
			in := &queuepb.ReleaseRequest{}
			for _, b := range tasks {
				in.Releases = append(in.Releases, &queuepb.Releasing{Id: b.GetId(), Token: token(b)})
			}
			out, err := n.queues().Release(as, in)
			require.NoError(t, err)
			return out.GetResults()
		},
		"Extend": func(tasks []batchTask) []*queuepb.SettleResult {
			in := &queuepb.ExtendRequest{}
			for _, b := range tasks {
				in.Extensions = append(in.Extensions, &queuepb.Extension{Id: b.GetId(), Token: token(b), LeaseMs: 60_000})
			}
			out, err := n.queues().Extend(as, in)
			require.NoError(t, err)
			return out.GetResults()
		},
		"CancelTasks": func(tasks []batchTask) []*queuepb.SettleResult {
			out, err := n.admins().CancelTasks(as, &adminpb.CancelTasksRequest{Ids: ids(tasks)})
			require.NoError(t, err)
			return out.GetResults()
		},
		"RedriveDead": func(tasks []batchTask) []*queuepb.SettleResult {
			out, err := n.admins().RedriveDead(as, &adminpb.RedriveDeadRequest{Ids: ids(tasks)})
			require.NoError(t, err)
			return out.GetResults()
		},
		"PurgeDead": func(tasks []batchTask) []*queuepb.SettleResult {
			out, err := n.admins().PurgeDead(as, &adminpb.PurgeDeadRequest{Ids: ids(tasks)})
			require.NoError(t, err)
			return out.GetResults()
		},
	}
}

// Both nodes of a batch refuse their parts, since the receiving node leads their shards by then.
// The second try is the whole batch at one node. Each item must get its own result.
func TestBatchThatIsTriedAgainAnswersEachItem(t *testing.T) {
	for _, name := range []string{"Complete", "Complete by REST", "Fail", "Release", "Extend", "CancelTasks", "RedriveDead", "PurgeDead"} {
		t.Run(name, func(t *testing.T) {
			c := startNodes(t, 3, 2)
			c.leads("n2", "n3")
			call := batchesOfItems(t, c)[name]
			tasks := c.leasedAlternately(name == "RedriveDead" || name == "PurgeDead")
			if name == "CancelTasks" || name == "RedriveDead" || name == "PurgeDead" {
				for _, r := range call([]batchTask{tasks[2], tasks[3]}) {
					require.Nil(t, r.GetError(), "the task no longer exists")
				}
			}
			var asked sync.WaitGroup
			asked.Add(2)
			moved := make(chan struct{})
			hold := func(next func() (any, error)) (any, error) {
				asked.Done()
				<-moved
				return next()
			}
			c.all[1].hold.Store(&hold)
			c.all[2].hold.Store(&hold)
			done := make(chan []*queuepb.SettleResult, 1)
			go func() { done <- call(tasks) }()
			asked.Wait()
			c.leads("n1", "n1")
			c.all[1].hold.Store(nil)
			c.all[2].hold.Store(nil)
			close(moved)
			results := <-done
			require.Len(t, results, len(tasks))
			for i, r := range results {
				assert.Equal(t, tasks[i].refused, r.GetError() != nil, "item %d: %v", i, r.GetError())
				if tasks[i].refused {
					assert.EqualValues(t, i, r.GetError().GetIndex())
				}
			}
		})
	}
}

// leasedAlternately leases four tasks of shards 0 and 1 alternately, and makes them dead if dead is
// set. The last two tasks should be refused.
func (c *nodes) leasedAlternately(dead bool) []batchTask {
	c.Helper()
	tasks := make([]batchTask, 4)
	for i := range tasks {
		in := newTasks("q", 1)
		in[0].MaxAttempts = 1
		n := c.node(c.leaders[i%2])
		id := n.put(in...)[0]
		out, err := n.queues().Claim(c.as("t0"), &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 1})
		require.NoError(c, err)
		require.Len(c, out.GetTasks(), 1)
		require.Equal(c, id, out.GetTasks()[0].GetId())
		require.Equal(c, i%2, shardOf(c.T, id))
		tasks[i] = batchTask{Task: out.GetTasks()[0], refused: i >= 2}
		if dead {
			failed, err := n.queues().Fail(c.as("t0"), &queuepb.FailRequest{Failures: []*queuepb.Failure{{Id: id, Token: tasks[i].GetToken()}}})
			require.NoError(c, err)
			require.Nil(c, failed.GetResults()[0].GetError())
		}
	}
	return tasks
}

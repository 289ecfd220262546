package node_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

func task(queue, payload string) *queuepb.NewTask {
	return &queuepb.NewTask{Queue: queue, Payload: []byte(payload), Headers: map[string]string{"kind": queue, "empty": ""}}
}

func enqueue(ctx context.Context, t *testing.T, c *client.Client, tasks ...*queuepb.NewTask) []string {
	t.Helper()
	out, err := c.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: tasks})
	require.NoError(t, err)
	ids := make([]string, len(tasks))
	for i, r := range out.GetResults() {
		require.Nil(t, r.GetError())
		ids[i] = r.GetId()
	}
	return ids
}

func claim(ctx context.Context, t *testing.T, c *client.Client, queue string, n uint32) []*queuepb.Task {
	t.Helper()
	out, err := c.API().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{queue}, MaxTasks: n, LeaseMs: 3600_000})
	require.NoError(t, err)
	return out.GetTasks()
}

// The node restarts between the steps of a task's life, with each durability.
func TestANodeGoesOnWhereItStopped(t *testing.T) {
	for _, durability := range []storage.Durability{storage.Sync, storage.Interval, storage.None} {
		t.Run(string(durability), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			dir := t.TempDir()
			run := func(use func(*client.Client)) {
				n, err := node.Open(node.Config{DataDir: dir, Listen: []string{"127.0.0.1:0"}, Durability: durability})
				require.NoError(t, err)
				c, err := client.Dial(n.Addresses()[0])
				require.NoError(t, err)
				use(c)
				require.NoError(t, c.Close())
				require.NoError(t, n.Shutdown(ctx))
			}
			state := func(c *client.Client, id string) *queuepb.Task {
				out, err := c.API().GetTask(ctx, &queuepb.GetTaskRequest{Id: id})
				require.NoError(t, err)
				return out.GetTask()
			}
			var ready, special []string
			var leased, short *queuepb.Task
			run(func(c *client.Client) {
				ready = enqueue(ctx, t, c, task("ready", "0"), task("ready", "1"), task("ready", "2"))
				special = enqueue(ctx, t, c, task("leased", "body"), &queuepb.NewTask{Queue: "delayed", DelayMs: 3600_000},
					&queuepb.NewTask{Queue: "dead", MaxAttempts: 1}, task("done", ""), &queuepb.NewTask{Queue: "short", DelayMs: 1})
				leased = claim(ctx, t, c, "leased", 1)[0]
				dead := claim(ctx, t, c, "dead", 1)[0]
				_, err := c.API().Fail(ctx, &queuepb.FailRequest{Failures: []*queuepb.Failure{{Id: dead.GetId(), Token: dead.GetToken(), Error: "why"}}})
				require.NoError(t, err)
				done := claim(ctx, t, c, "done", 1)[0]
				_, err = c.API().Complete(ctx, &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: done.GetId(), Token: done.GetToken()}}})
				require.NoError(t, err)
				out, err := c.API().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"short"}, LeaseMs: 1, WaitMs: 10_000})
				require.NoError(t, err)
				require.Len(t, out.GetTasks(), 1)
				short = out.GetTasks()[0]
			})
			run(func(c *client.Client) {
				got := claim(ctx, t, c, "ready", 10)
				require.Len(t, got, 3)
				for i := range got {
					assert.Equal(t, ready[i], got[i].GetId())
					assert.Equal(t, string(rune('0'+i)), string(got[i].GetPayload()))
					assert.Equal(t, map[string]string{"kind": "ready", "empty": ""}, got[i].GetHeaders())
				}
				assert.Empty(t, claim(ctx, t, c, "leased", 10), "a lease survives the restart")
				assert.Empty(t, claim(ctx, t, c, "delayed", 10))
				assert.Empty(t, claim(ctx, t, c, "dead", 10))
				assert.Empty(t, claim(ctx, t, c, "done", 10))
				assert.Equal(t, queuepb.TaskState_TASK_STATE_LEASED, state(c, special[0]).GetState())
				assert.Equal(t, queuepb.TaskState_TASK_STATE_DELAYED, state(c, special[1]).GetState())
				assert.Equal(t, queuepb.TaskState_TASK_STATE_DEAD, state(c, special[2]).GetState())
				assert.Equal(t, "why", state(c, special[2]).GetLastError())
				assert.Equal(t, map[string]string{"kind": "leased", "empty": ""}, state(c, special[0]).GetHeaders())

				// The lease that expired while the node was down has ended, and later tokens are
				// greater.
				out, err := c.API().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"short"}, WaitMs: 10_000})
				require.NoError(t, err)
				require.Len(t, out.GetTasks(), 1)
				assert.EqualValues(t, 2, out.GetTasks()[0].GetAttempt())
				assert.Greater(t, out.GetTasks()[0].GetToken(), short.GetToken())

				// A token from before the restart still settles the task.
				done, err := c.API().Complete(ctx, &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: leased.GetId(), Token: leased.GetToken()}}})
				require.NoError(t, err)
				assert.Nil(t, done.GetResults()[0].GetError())
			})
			run(func(c *client.Client) {
				_, err := c.API().GetTask(ctx, &queuepb.GetTaskRequest{Id: special[0]})
				require.Error(t, err, "completed before the restart")
				enqueue(ctx, t, c, task("ready", "3"))
				got := claim(ctx, t, c, "ready", 10)
				require.Len(t, got, 1)
				assert.Equal(t, "3", string(got[0].GetPayload()))
				assert.NotContains(t, ready, got[0].GetId())
			})
		})
	}
}

func TestAFailedOpenCanBeTriedAgain(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		_, err := node.Open(node.Config{DataDir: dir, Listen: []string{"127.0.0.1:0", "127.0.0.1:99999"}, Durability: storage.None})
		require.Error(t, err)
	}
	start(t, func(c *node.Config) { c.DataDir = dir })
}

// Tasks that became ready are counted as ready after a restart, wherever depths are shown, before
// any claim. There are more tasks than a window holds.
func TestDepthsAfterARestart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dir := t.TempDir()
	n, err := node.Open(node.Config{DataDir: dir, Listen: []string{"127.0.0.1:0"}, Durability: storage.None})
	require.NoError(t, err)
	c, err := client.Dial(n.Addresses()[0])
	require.NoError(t, err)
	for range 5 {
		batch := make([]*queuepb.NewTask, 1_000)
		for i := range batch {
			batch[i] = task("q", "")
		}
		enqueue(ctx, t, c, batch...)
	}
	for leased := 0; leased < 5_000; {
		out, err := c.API().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 1_000, LeaseMs: 3_000})
		require.NoError(t, err)
		leased += len(out.GetTasks())
	}
	require.NoError(t, c.Close())
	require.NoError(t, n.Shutdown(ctx))
	n = start(t, func(c *node.Config) { c.DataDir, c.Metrics.Tenants = dir, true })
	require.Eventually(t, func() bool { // its leases end
		return strings.Contains(get(t, n, "/metrics"), `prony_queue_tasks{queue="q",state="leased",tenant="default"} 0`)
	}, patience, 10*time.Millisecond)
	metrics := get(t, n, "/metrics")
	assert.Contains(t, metrics, `prony_queue_tasks{queue="q",state="ready",tenant="default"} 5000`)
	assert.Contains(t, metrics, `prony_queue_tasks{queue="q",state="delayed",tenant="default"} 0`)
	assert.NotContains(t, metrics, `prony_queue_oldest_ready_seconds{queue="q",tenant="default"} 0`+"\n")
	assert.Contains(t, get(t, n, "/audit"), `"ready":5000,"leased":0,"delayed":0,"dead":0,"stored":5000,"found":{"ready":5000,"leased":0,"delayed":0,"dead":0}`)
}

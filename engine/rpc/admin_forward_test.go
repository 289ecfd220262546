package rpc_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
)

// shared returns a cluster of four nodes of which three lead one shard each.
func shared(t *testing.T) *nodes {
	t.Helper()
	c := startNodes(t, 4, 3)
	c.leads("n3", "n1", "n2")
	return c
}

func TestFiguresAreTheClusters(t *testing.T) {
	c := shared(t)
	ids := c.spreadOut()
	c.all[0].put(&queuepb.NewTask{Queue: "other", Payload: []byte("abc")})
	c.all[2].put(newTasks("q", 2)...)
	for _, n := range c.all {
		out, err := n.admins().GetQueue(c.as("t0"), &adminpb.GetQueueRequest{Queue: "q"})
		require.NoError(t, err)
		assert.EqualValues(t, 5, out.GetQueue().GetReady(), n.id)
		assert.EqualValues(t, 5, out.GetQueue().GetEnqueued(), n.id)
		one, err := n.admins().GetQueue(c.as("t0"), &adminpb.GetQueueRequest{Queue: "other"})
		require.NoError(t, err)
		assert.Equal(t, queue.QueueBytes("t0", "other")+queue.TaskBytes(3), int64(one.GetQueue().GetBytes()))
		_, err = n.admins().GetQueue(c.as("t0"), &adminpb.GetQueueRequest{Queue: "none"})
		requireCode(t, codes.NotFound, err)
		status, err := n.admins().GetStatus(c.as("operator"), &adminpb.GetStatusRequest{})
		require.NoError(t, err)
		assert.EqualValues(t, 6, status.GetTasks())
		assert.EqualValues(t, 2, status.GetQueues())
		assert.EqualValues(t, 3, status.GetShards())
		tenants, err := n.admins().ListTenants(c.as("operator"), &adminpb.ListTenantsRequest{})
		require.NoError(t, err)
		require.Len(t, tenants.GetTenants(), 1)
		assert.EqualValues(t, 6, tenants.GetTenants()[0].GetTasks())
		assert.EqualValues(t, 2, tenants.GetTenants()[0].GetQueues())
	}
	for _, id := range ids {
		out, err := c.all[3].queues().GetTask(c.as("t0"), &queuepb.GetTaskRequest{Id: id})
		require.NoError(t, err)
		assert.Equal(t, id, out.GetTask().GetId())
	}
	out, err := c.all[3].admins().ConfigureTenant(c.as("operator"), &adminpb.ConfigureTenantRequest{Tenant: "t0", Quotas: &adminpb.Quotas{LeasesMax: 7}})
	require.NoError(t, err)
	assert.EqualValues(t, 6, out.GetTenant().GetTasks())
	assert.EqualValues(t, 7, out.GetTenant().GetQuotas().GetLeasesMax())
}

// A leader has a shard only once it has recovered the shard's state. Before that, its answers lack
// the shard, and its changes do not reach it.
func TestNoAnswerLeavesAShardOutThatItsLeaderIsRecovering(t *testing.T) {
	c := startNodes(t, 3, 3)
	c.leads("n1", "n1", "n2")
	for _, n := range c.all[:2] {
		n.put(newTasks("q", 3)...)
	}
	c.all[0].put(newTasks("q", 3)...)
	total := func(n *clusterNode) (uint64, error) {
		out, err := n.admins().ListQueues(c.as("t0"), &adminpb.ListQueuesRequest{})
		if err != nil {
			return 0, err
		}
		return out.GetQueues()[0].GetReady(), nil
	}
	c.node("n1").group.Lose(1)
	c.retriesFor(60 * time.Millisecond)
	for _, n := range c.all {
		_, err := total(n)
		requireNotLeader(t, err)
		_, err = n.admins().GetQueue(c.as("t0"), &adminpb.GetQueueRequest{Queue: "q"})
		requireNotLeader(t, err)
		_, err = n.admins().ConfigureQueue(c.as("t0"), &adminpb.ConfigureQueueRequest{Queue: "q", Policy: &adminpb.QueuePolicy{MaxAttempts: 3}})
		requireNotLeader(t, err)
	}
	require.NoError(t, c.node("n1").group.Lead(1, c.open[1]))
	c.retriesFor(patience)
	for _, n := range c.all {
		ready, err := total(n)
		require.NoError(t, err)
		assert.EqualValues(t, 9, ready, n.id)
	}
}

func TestQueuesOfAllLeadersAreListedInPages(t *testing.T) {
	c := shared(t)
	var want []string
	for i := range 23 {
		name := fmt.Sprintf("q%02d", i)
		want = append(want, name)
		for k := range 1 + i%3 {
			c.all[(i+k)%3].put(newTasks(name, 1)...)
		}
	}
	for _, size := range []uint32{0, 1, 5, 23} {
		var got []string
		in := &adminpb.ListQueuesRequest{PageSize: size}
		for {
			out, err := c.all[3].admins().ListQueues(c.as("t0"), in)
			require.NoError(t, err)
			for _, q := range out.GetQueues() {
				got = append(got, q.GetQueue())
				var i uint64
				_, err := fmt.Sscanf(q.GetQueue(), "q%d", &i)
				require.NoError(t, err)
				assert.Equal(t, 1+i%3, q.GetReady(), q.GetQueue())
			}
			if in.PageToken = out.GetNextPageToken(); in.GetPageToken() == "" {
				break
			}
			if size > 0 {
				require.Len(t, out.GetQueues(), int(size))
			}
		}
		assert.Equal(t, want, got)
	}
}

func TestTasksOfAllShardsAreListedInPages(t *testing.T) {
	c := shared(t)
	want := map[string]bool{}
	for i := range 30 {
		task := &queuepb.NewTask{Queue: "q", MaxAttempts: 1, Headers: map[string]string{"kind": []string{"first", "second", "third"}[i/10]}}
		want[c.all[i%3].put(task)[0]] = true
	}
	list := func(size uint32) {
		got := map[string]bool{}
		in := &adminpb.ListTasksRequest{Queue: "q", State: stateReady, PageSize: size}
		pages := 0
		for {
			// Request the next page from another node.
			out, err := c.all[pages%4].admins().ListTasks(c.as("t0"), in)
			require.NoError(t, err)
			for _, task := range out.GetTasks() {
				require.False(t, got[task.GetId()])
				got[task.GetId()] = true
			}
			pages++
			if size > 0 {
				require.LessOrEqual(t, len(out.GetTasks()), int(size))
			}
			if in.PageToken = out.GetNextPageToken(); in.GetPageToken() == "" {
				break
			}
		}
		assert.Equal(t, want, got)
		if size == 0 {
			assert.Equal(t, 1, pages, "small shards share a page")
		}
	}
	kinds, err := c.all[3].admins().ListTasks(c.as("t0"), &adminpb.ListTasksRequest{Queue: "q", State: stateReady, Kind: "third"})
	require.NoError(t, err)
	require.Len(t, kinds.GetTasks(), 10, "the filter reaches each leader")
	kinds, err = c.all[3].admins().ListTasks(c.as("t0"), &adminpb.ListTasksRequest{Queue: "q", State: stateReady, Header: &adminpb.HeaderFilter{Key: "kind", Value: "third"}})
	require.NoError(t, err)
	require.Len(t, kinds.GetTasks(), 10, "the filter reaches each leader")
	list(0)
	list(1)
	list(7)
	list(30)
	_, err = c.all[3].admins().ListTasks(c.as("t0"), &adminpb.ListTasksRequest{Queue: "none", State: stateReady})
	requireCode(t, codes.NotFound, err)
	_, err = c.all[3].admins().ListTasks(c.as("t0"), &adminpb.ListTasksRequest{Queue: "q", State: stateReady, PageToken: "x"})
	requireField(t, "page_token", err)

	// The tasks die, are listed as dead, are redriven, and are purged.
	for len(c.kill()) > 0 {
		continue
	}
	dead, err := c.all[3].admins().ListDead(c.as("t0"), &adminpb.ListDeadRequest{Queue: "q"})
	require.NoError(t, err)
	require.Len(t, dead.GetTasks(), 30)
	redriven, err := c.all[3].admins().RedriveDead(c.as("t0"), &adminpb.RedriveDeadRequest{Ids: []string{dead.GetTasks()[0].GetTask().GetId(), dead.GetTasks()[29].GetTask().GetId(), "bad"}})
	require.NoError(t, err)
	assert.EqualValues(t, 2, redriven.GetRedriven())
	requireItemError(t, redriven.GetResults()[2].GetError(), codeInvalid, "ids")
	redriven, err = c.all[3].admins().RedriveDead(c.as("t0"), &adminpb.RedriveDeadRequest{Queue: "q"})
	require.NoError(t, err)
	assert.EqualValues(t, 28, redriven.GetRedriven())
	purged, err := c.all[3].admins().PurgeQueue(c.as("t0"), &adminpb.PurgeQueueRequest{Queue: "q"})
	require.NoError(t, err)
	assert.EqualValues(t, 30, purged.GetRemoved())
	_, err = c.all[3].admins().PurgeQueue(c.as("t0"), &adminpb.PurgeQueueRequest{Queue: "none"})
	requireCode(t, codes.NotFound, err)
	gone, err := c.all[3].admins().PurgeDead(c.as("t0"), &adminpb.PurgeDeadRequest{Queue: "q"})
	require.NoError(t, err)
	assert.Zero(t, gone.GetRemoved())
}

// kill claims the ready tasks and fails them.
func (c *nodes) kill() []*queuepb.Task {
	c.Helper()
	tasks := c.all[3].take(10, 0)
	in := &queuepb.FailRequest{}
	for _, task := range tasks {
		in.Failures = append(in.Failures, &queuepb.Failure{Id: task.GetId(), Token: task.GetToken(), Error: "x"})
	}
	if len(tasks) == 0 {
		return nil
	}
	out, err := c.all[3].queues().Fail(c.as("t0"), in)
	require.NoError(c, err)
	for _, r := range out.GetResults() {
		require.Nil(c, r.GetError())
	}
	return tasks
}

func TestPoliciesAndPausesHoldAtAllLeaders(t *testing.T) {
	c := shared(t)
	policy := &adminpb.QueuePolicy{Placement: ordered, MaxAttempts: 3}
	out, err := c.all[3].admins().ConfigureQueue(c.as("t0"), &adminpb.ConfigureQueueRequest{Queue: "q", Policy: policy})
	require.NoError(t, err)
	assert.Equal(t, policy.GetMaxAttempts(), out.GetQueue().GetPolicy().GetMaxAttempts())
	for i := range c.leaders {
		stats, err := c.node(c.leaders[i]).group.QueueStats(c.ctx, "t0", "q")
		require.NoError(t, err)
		assert.EqualValues(t, 3, stats.Policy.MaxAttempts)
	}
	// All of its tasks go to one shard, whichever node receives the call.
	shards := map[int]bool{}
	for _, n := range c.all {
		for _, id := range n.put(newTasks("q", 3)...) {
			shards[shardOf(t, id)] = true
		}
	}
	assert.Len(t, shards, 1)
	_, err = c.all[3].admins().PauseQueue(c.as("t0"), &adminpb.PauseQueueRequest{Queue: "q"})
	require.NoError(t, err)
	for _, n := range c.all {
		assert.Empty(t, n.take(1, 0))
	}
	_, err = c.all[3].admins().ResumeQueue(c.as("t0"), &adminpb.ResumeQueueRequest{Queue: "q"})
	require.NoError(t, err)
	assert.Len(t, c.all[3].take(100, 0), 12)
	_, err = c.all[3].admins().PauseQueue(c.as("t0"), &adminpb.PauseQueueRequest{Queue: "none"})
	requireCode(t, codes.NotFound, err)

	// A change is not confirmed unless each shard has a leader.
	c.retriesFor(60 * time.Millisecond)
	c.lead(2, "")
	_, err = c.all[3].admins().ConfigureQueue(c.as("t0"), &adminpb.ConfigureQueueRequest{Queue: "q", Policy: policy})
	assert.EqualValues(t, 2, requireNotLeader(t, err).GetShard())
	_, err = c.all[3].admins().GetQueue(c.as("t0"), &adminpb.GetQueueRequest{Queue: "q"})
	assert.EqualValues(t, 2, requireNotLeader(t, err).GetShard())
	// A call that another node would have to forward again is refused: it would need two hops.
	_, err = c.all[3].admins().ConfigureQueue(c.as("t0"), &adminpb.ConfigureQueueRequest{Queue: "q"})
	requireField(t, "policy", err)
}

// Tokens are created at the leader of shard 0, whichever node receives the call.
func TestTokensAreTheFirstShardsLeaders(t *testing.T) {
	c := shared(t)
	out, err := c.all[0].admins().CreateToken(c.as("t0"), &adminpb.CreateTokenRequest{Scopes: []adminpb.Scope{adminpb.Scope_SCOPE_WORK}})
	require.NoError(t, err)
	has := func(n *clusterNode) bool {
		tokens, err := n.registry.Tokens(&everybody, "t0")
		require.NoError(t, err)
		for _, token := range tokens {
			if token.ID == out.GetToken().GetId() {
				return true
			}
		}
		return false
	}
	assert.True(t, has(c.node("n3")))
	assert.False(t, has(c.node("n1")))
	rotated, err := c.all[1].admins().RotateToken(c.as("t0"), &adminpb.RotateTokenRequest{Id: out.GetToken().GetId()})
	require.NoError(t, err)
	assert.NotEqual(t, out.GetSecret(), rotated.GetSecret())
	listed, err := c.all[3].admins().ListTokens(c.as("t0"), &adminpb.ListTokensRequest{})
	require.NoError(t, err)
	assert.Len(t, listed.GetTokens(), 3)
	_, err = c.all[1].admins().RevokeToken(c.as("t0"), &adminpb.RevokeTokenRequest{Id: out.GetToken().GetId()})
	require.NoError(t, err)
	assert.False(t, has(c.node("n3")))
	_, err = c.all[1].admins().RevokeToken(c.as("t0"), &adminpb.RevokeTokenRequest{Id: out.GetToken().GetId()})
	requireCode(t, codes.NotFound, err)
}

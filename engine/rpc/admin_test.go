package rpc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage/backup"
)

// administer returns a client of the server's admin service.
func (s *server) administer() adminpb.AdminServiceClient {
	s.Helper()
	conn, err := grpc.NewClient("passthrough:///"+s.node.Admin(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(s, err)
	s.Cleanup(func() { require.NoError(s, conn.Close()) })
	return adminpb.NewAdminServiceClient(conn)
}

const (
	stateReady   = queuepb.TaskState_TASK_STATE_READY
	stateDelayed = queuepb.TaskState_TASK_STATE_DELAYED
	stateLeased  = queuepb.TaskState_TASK_STATE_LEASED
	ordered      = adminpb.Placement_PLACEMENT_ORDERED
)

func TestAQueueIsConfigured(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	policy := &adminpb.QueuePolicy{
		Placement: ordered, MaxAttempts: 1, LeaseMs: 123_000, TtlMs: 3600_000, ResultRetentionMs: 60_000,
		Backoff: &queuepb.Backoff{InitialMs: 5, MaxMs: 50, MultiplierPercent: 150, JitterPercent: 7},
	}
	out, err := admin.ConfigureQueue(s.ctx, &adminpb.ConfigureQueueRequest{Queue: "q", Policy: policy})
	require.NoError(t, err)
	assert.True(t, proto.Equal(policy, out.GetQueue().GetPolicy()), "%v", out)
	assert.Equal(t, "default", out.GetQueue().GetTenant())
	for range 4 {
		s.enqueue(newTasks("q", 2)...)
	}
	var got []string
	for len(got) < 8 {
		for _, task := range s.claimNow(2, "q") {
			got = append(got, string(task.GetPayload()))
			assert.EqualValues(t, 1, task.GetMaxAttempts())
			assert.Equal(t, task.GetEnqueuedAtMs()+3600_000, task.GetExpiresAtMs())
			assert.GreaterOrEqual(t, task.GetLeaseExpiresAtMs(), task.GetEnqueuedAtMs()+123_000)
		}
	}
	assert.Equal(t, strings.Fields("0 1 0 1 0 1 0 1"), got, "the tasks are in order")
	one, err := admin.GetQueue(s.ctx, &adminpb.GetQueueRequest{Queue: "q"})
	require.NoError(t, err)
	assert.True(t, proto.Equal(policy, one.GetQueue().GetPolicy()))
	assert.EqualValues(t, 8, one.GetQueue().GetLeased())

	// Unset fields return to the server's default.
	_, err = admin.ConfigureQueue(s.ctx, &adminpb.ConfigureQueueRequest{Queue: "q", Policy: &adminpb.QueuePolicy{}})
	require.NoError(t, err)
	s.enqueue(newTasks("q", 1)...)
	assert.EqualValues(t, 20, s.claim("q").GetMaxAttempts())
	one, err = admin.GetQueue(s.ctx, &adminpb.GetQueueRequest{Queue: "q"})
	require.NoError(t, err)
	assert.True(t, proto.Equal(&adminpb.QueuePolicy{Placement: adminpb.Placement_PLACEMENT_SPREAD}, one.GetQueue().GetPolicy()))
}

// someTasks leaves in queue q: 2 ready tasks of 3 bytes, 1 delayed, 1 leased, 2 dead, 1 completed,
// 1 cancelled.
func (s *server) someTasks(admin adminpb.AdminServiceClient) {
	s.Helper()
	task := func() *queuepb.NewTask { return &queuepb.NewTask{Queue: "q", MaxAttempts: 1, Payload: []byte("abc")} }
	s.enqueue(task(), task(), task(), task(), task())
	for i := range 4 {
		leased := s.claim("q")
		switch i {
		case 0:
			require.Nil(s, s.complete(leased))
		case 1, 2:
			s.fail(leased, fmt.Sprint("broke ", i), 0)
		}
	}
	out, err := admin.ListTasks(s.ctx, &adminpb.ListTasksRequest{Queue: "q", State: stateReady})
	require.NoError(s, err)
	require.Len(s, out.GetTasks(), 1)
	cancelled, err := admin.CancelTasks(s.ctx, &adminpb.CancelTasksRequest{Ids: []string{out.GetTasks()[0].GetId()}})
	require.NoError(s, err)
	require.Nil(s, cancelled.GetResults()[0].GetError())
	s.enqueue(task())
	s.enqueue(task())
	s.enqueue(&queuepb.NewTask{Queue: "q", DelayMs: 3600_000, Payload: []byte("abc")})
}

func TestAQueuesFigures(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	s.someTasks(admin)
	out, err := admin.GetQueue(s.ctx, &adminpb.GetQueueRequest{Queue: "q"})
	require.NoError(t, err)
	q := out.GetQueue()
	assert.Equal(t, []uint64{2, 1, 1, 2}, []uint64{q.GetReady(), q.GetDelayed(), q.GetLeased(), q.GetDead()})
	assert.Equal(t, []uint64{8, 1, 1}, []uint64{q.GetEnqueued(), q.GetCompleted(), q.GetRemoved()})
	e := q.GetEvents()
	assert.Equal(t, []uint64{2, 0, 0, 1, 2, 0, 0}, []uint64{e.GetFailedAttempts(), e.GetExpiredLeases(), e.GetRetries(), e.GetCancelled(), e.GetDeadAttempts(), e.GetDeadExpired(), e.GetDeadPermanent()})
	tenants, err := admin.ListTenants(s.ctx, &adminpb.ListTenantsRequest{})
	require.NoError(t, err)
	require.Len(t, tenants.GetTenants(), 1)
	assert.Equal(t, tenants.GetTenants()[0].GetBytes(), q.GetBytes(), "the tenant has only this queue")
	assert.Greater(t, int64(q.GetBytes()), 6*queue.TaskBytes(3), "six tasks with payloads, and attempts")
	assert.Positive(t, q.GetEnqueuedPerS())
	assert.Positive(t, q.GetCompletedPerS())
	assert.Less(t, q.GetOldestReadyAgeMs(), uint64(patience.Milliseconds()))
	require.Eventually(t, func() bool {
		one, err := admin.GetQueue(s.ctx, &adminpb.GetQueueRequest{Queue: "q"})
		return err == nil && one.GetQueue().GetOldestReadyAgeMs() > 5
	}, patience, time.Millisecond)
	status, err := admin.GetStatus(s.ctx, &adminpb.GetStatusRequest{})
	require.NoError(t, err)
	assert.EqualValues(t, 1, status.GetQueues())
	assert.EqualValues(t, 6, status.GetTasks())
}

func TestQueuesAreListedInPages(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	for _, tenant := range []string{"t2", "t1"} {
		for _, name := range []string{"a/2", "b", "a/1", "c", "a/3"} {
			_, err := s.Enqueue(s.ctx, &queuepb.EnqueueRequest{Tenant: tenant, Tasks: newTasks(name, 1)})
			require.NoError(t, err)
		}
	}
	list := func(in *adminpb.ListQueuesRequest) (names []string) {
		for {
			out, err := admin.ListQueues(s.ctx, in)
			require.NoError(t, err)
			if in.GetPageSize() > 0 {
				require.LessOrEqual(t, len(out.GetQueues()), int(in.GetPageSize()))
			}
			for _, q := range out.GetQueues() {
				names = append(names, q.GetTenant()+":"+q.GetQueue())
				assert.EqualValues(t, 1, q.GetReady())
			}
			if out.GetNextPageToken() == "" {
				return names
			}
			in.PageToken = out.GetNextPageToken()
		}
	}
	all := strings.Fields("t1:a/1 t1:a/2 t1:a/3 t1:b t1:c t2:a/1 t2:a/2 t2:a/3 t2:b t2:c")
	for _, size := range []uint32{0, 1, 2, 3, 5, 10, 1_000} {
		assert.Equal(t, all, list(&adminpb.ListQueuesRequest{PageSize: size}))
		assert.Equal(t, all[5:8], list(&adminpb.ListQueuesRequest{PageSize: size, Tenant: "t2", Prefix: "a/"}))
	}
	assert.Empty(t, list(&adminpb.ListQueuesRequest{Tenant: "nobody"}))
	first, err := admin.ListQueues(s.ctx, &adminpb.ListQueuesRequest{PageSize: 1})
	require.NoError(t, err)
	_, err = admin.ListQueues(s.ctx, &adminpb.ListQueuesRequest{PageSize: 1, Prefix: "a", PageToken: first.GetNextPageToken()})
	requireField(t, "page_token", err)
}

// After a restart, lists also read the age of a queue's oldest task.
func TestListedAgesAreRead(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, func(c *node.Config) { c.DataDir = dir })
	s.enqueue(newTasks("q", 1)...)
	s.stop()
	s = serve(t, func(c *node.Config) { c.DataDir = dir })
	admin := s.administer()
	require.Eventually(t, func() bool {
		out, err := admin.ListQueues(s.ctx, &adminpb.ListQueuesRequest{})
		return err == nil && out.GetQueues()[0].GetOldestReadyAgeMs() > 0
	}, patience, time.Millisecond)
}

func TestAQueueIsPausedAndPurged(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	s.someTasks(admin)
	_, err := admin.PauseQueue(s.ctx, &adminpb.PauseQueueRequest{Queue: "q"})
	require.NoError(t, err)
	assert.Empty(t, s.claimNow(10, "q"))
	s.enqueue(newTasks("q", 1)...)
	out, err := admin.GetQueue(s.ctx, &adminpb.GetQueueRequest{Queue: "q"})
	require.NoError(t, err)
	assert.True(t, out.GetQueue().GetPaused())
	waiting := s.work(1, "q")
	_, err = admin.ResumeQueue(s.ctx, &adminpb.ResumeQueueRequest{Queue: "q"})
	require.NoError(t, err)
	waiting.take(1)
	require.NoError(t, waiting.CloseSend())
	require.NoError(t, waiting.end())
	purged, err := admin.PurgeQueue(s.ctx, &adminpb.PurgeQueueRequest{Queue: "q"})
	require.NoError(t, err)
	assert.EqualValues(t, 3, purged.GetRemoved())
	out, err = admin.GetQueue(s.ctx, &adminpb.GetQueueRequest{Queue: "q"})
	require.NoError(t, err)
	q := out.GetQueue()
	assert.False(t, q.GetPaused())
	assert.Equal(t, []uint64{0, 0, 2, 2}, []uint64{q.GetReady(), q.GetDelayed(), q.GetLeased(), q.GetDead()})
}

func TestTheServersStatus(t *testing.T) {
	before := time.Now().UnixMilli()
	s := serve(t, nil)
	out, err := s.administer().GetStatus(s.ctx, &adminpb.GetStatusRequest{})
	require.NoError(t, err)
	assert.NotEmpty(t, out.GetVersion())
	assert.GreaterOrEqual(t, out.GetStartedAtMs(), before)
	assert.Contains(t, []uint32{1, 3}, out.GetShards())
	assert.Equal(t, "none", out.GetDurability())
	assert.True(t, out.GetReady())
	assert.Empty(t, out.GetNotReadyReason())
}

func TestABackupIsMade(t *testing.T) {
	s := serve(t, nil)
	admin := s.administer()
	for range 3 {
		s.enqueue(newTasks("q", 5)...)
	}
	for _, name := range []string{"first", ""} {
		out, err := admin.Backup(s.ctx, &adminpb.BackupRequest{Name: name})
		require.NoError(t, err)
		m, err := backup.Verify(s.ctx, out.GetPath())
		require.NoError(t, err)
		assert.Equal(t, m.Bytes(), int64(out.GetBytes()))
		assert.Positive(t, out.GetBytes())
	}
	_, err := admin.Backup(s.ctx, &adminpb.BackupRequest{Name: "first"})
	requireCode(t, codes.AlreadyExists, err)
}

// TestBadAdminCalls passes invalid values for each field of each call.
func TestBadAdminCalls(t *testing.T) {
	s := serve(t, nil)
	a := s.administer()
	s.enqueue(newTasks("q", 2)...)
	good := s.look(s.enqueue(newTasks("q", 1)...)[0]).GetId()
	page, err := a.ListTasks(s.ctx, &adminpb.ListTasksRequest{Queue: "q", State: stateReady, PageSize: 1})
	require.NoError(t, err)
	foreign := page.GetNextPageToken()
	long := strings.Repeat("x", 129)
	many := make([]string, 1_001)
	type check struct {
		field string
		call  func() error
	}
	var checks []check
	add := func(field string, call func() error) { checks = append(checks, check{field, call}) }
	// The queue of a call.
	for _, bad := range []struct{ field, tenant, queue string }{{"tenant", "no spaces", "q"}, {"tenant", long, "q"}, {"queue", "", ""}, {"queue", "", "ä"}, {"queue", "", long}} {
		add(bad.field, func() error {
			_, err := a.GetQueue(s.ctx, &adminpb.GetQueueRequest{Tenant: bad.tenant, Queue: bad.queue})
			return err
		})
		add(bad.field, func() error {
			_, err := a.ConfigureQueue(s.ctx, &adminpb.ConfigureQueueRequest{Tenant: bad.tenant, Queue: bad.queue, Policy: &adminpb.QueuePolicy{}})
			return err
		})
		add(bad.field, func() error {
			_, err := a.PauseQueue(s.ctx, &adminpb.PauseQueueRequest{Tenant: bad.tenant, Queue: bad.queue})
			return err
		})
		add(bad.field, func() error {
			_, err := a.ResumeQueue(s.ctx, &adminpb.ResumeQueueRequest{Tenant: bad.tenant, Queue: bad.queue})
			return err
		})
		add(bad.field, func() error {
			_, err := a.PurgeQueue(s.ctx, &adminpb.PurgeQueueRequest{Tenant: bad.tenant, Queue: bad.queue})
			return err
		})
		add(bad.field, func() error {
			_, err := a.ListTasks(s.ctx, &adminpb.ListTasksRequest{Tenant: bad.tenant, Queue: bad.queue, State: stateReady})
			return err
		})
		add(bad.field, func() error {
			_, err := a.ListDead(s.ctx, &adminpb.ListDeadRequest{Tenant: bad.tenant, Queue: bad.queue})
			return err
		})
		add(bad.field, func() error {
			_, err := a.RedriveDead(s.ctx, &adminpb.RedriveDeadRequest{Tenant: bad.tenant, Queue: bad.queue})
			return err
		})
		add(bad.field, func() error {
			_, err := a.PurgeDead(s.ctx, &adminpb.PurgeDeadRequest{Tenant: bad.tenant, Queue: bad.queue})
			return err
		})
	}
	// Policies.
	const year = 367 * 24 * 3600_000
	for field, policy := range map[string]*adminpb.QueuePolicy{
		"policy":                            nil,
		"policy.placement":                  {Placement: 3},
		"policy.placement negative":         {Placement: -1},
		"policy.max_attempts":               {MaxAttempts: 1_001},
		"policy.lease_ms":                   {LeaseMs: 24*3600_000 + 1},
		"policy.ttl_ms":                     {TtlMs: year},
		"policy.result_retention_ms":        {ResultRetentionMs: 8 * 24 * 3600_000},
		"policy.backoff.initial_ms":         {Backoff: &queuepb.Backoff{InitialMs: year}},
		"policy.backoff.max_ms":             {Backoff: &queuepb.Backoff{MaxMs: year}},
		"policy.backoff.multiplier_percent": {Backoff: &queuepb.Backoff{MultiplierPercent: 1}},
		"policy.backoff.jitter_percent":     {Backoff: &queuepb.Backoff{JitterPercent: 101}},
	} {
		add(strings.Fields(field)[0], func() error {
			_, err := a.ConfigureQueue(s.ctx, &adminpb.ConfigureQueueRequest{Queue: "q", Policy: policy})
			return err
		})
	}
	// Lists.
	for _, token := range []string{"?", "AAAA", strings.Repeat("A", 40), strings.Repeat("A", 2_000), foreign} {
		add("page_token", func() error {
			_, err := a.ListQueues(s.ctx, &adminpb.ListQueuesRequest{PageToken: token})
			return err
		})
		add("page_token", func() error {
			_, err := a.ListTasks(s.ctx, &adminpb.ListTasksRequest{Queue: "q", State: stateDelayed, PageToken: token})
			return err
		})
		add("page_token", func() error {
			_, err := a.ListDead(s.ctx, &adminpb.ListDeadRequest{Queue: "q", PageToken: token})
			return err
		})
	}
	add("page_token", func() error {
		_, err := a.ListTasks(s.ctx, &adminpb.ListTasksRequest{Queue: "q", State: stateReady, PageToken: foreign[:len(foreign)-2]})
		return err
	})
	for _, size := range []uint32{1_001, 1<<32 - 1} {
		add("page_size", func() error {
			_, err := a.ListQueues(s.ctx, &adminpb.ListQueuesRequest{PageSize: size})
			return err
		})
		add("page_size", func() error {
			_, err := a.ListTasks(s.ctx, &adminpb.ListTasksRequest{Queue: "q", State: stateReady, PageSize: size})
			return err
		})
		add("page_size", func() error {
			_, err := a.ListDead(s.ctx, &adminpb.ListDeadRequest{Queue: "q", PageSize: size})
			return err
		})
	}
	add("tenant", func() error {
		_, err := a.ListQueues(s.ctx, &adminpb.ListQueuesRequest{Tenant: "?"})
		return err
	})
	for _, prefix := range []string{"no spaces", long} {
		add("prefix", func() error {
			_, err := a.ListQueues(s.ctx, &adminpb.ListQueuesRequest{Prefix: prefix})
			return err
		})
	}
	for _, state := range []queuepb.TaskState{0, stateDone, 7, -1} {
		add("state", func() error {
			_, err := a.ListTasks(s.ctx, &adminpb.ListTasksRequest{Queue: "q", State: state})
			return err
		})
	}
	// Filters.
	for field, filter := range map[string]*adminpb.DeadFilter{
		"filter.reason":          {Reason: 5},
		"filter.reason negative": {Reason: -1},
		"filter.error_contains":  {ErrorContains: strings.Repeat("e", 4<<10+1)},
		"filter.died_from_ms":    {DiedFromMs: -1},
		"filter.died_from_ms at": {DiedFromMs: 5, DiedBeforeMs: 5},
		"filter.died_before_ms":  {DiedBeforeMs: -1},
	} {
		field = strings.Fields(field)[0]
		add(field, func() error {
			_, err := a.ListDead(s.ctx, &adminpb.ListDeadRequest{Queue: "q", Filter: filter})
			return err
		})
		add(field, func() error {
			_, err := a.RedriveDead(s.ctx, &adminpb.RedriveDeadRequest{Queue: "q", Filter: filter})
			return err
		})
		add(field, func() error {
			_, err := a.PurgeDead(s.ctx, &adminpb.PurgeDeadRequest{Queue: "q", Filter: filter})
			return err
		})
	}
	// Single tasks.
	ids := []string{good}
	for _, c := range []struct {
		field  string
		tenant string
		ids    []string
		queue  string
		filter *adminpb.DeadFilter
	}{{field: "tenant", tenant: "?", ids: ids}, {field: "ids", ids: many}, {field: "queue", ids: ids, queue: "q"}, {field: "filter", ids: ids, filter: &adminpb.DeadFilter{}}} {
		add(c.field, func() error {
			_, err := a.RedriveDead(s.ctx, &adminpb.RedriveDeadRequest{Tenant: c.tenant, Ids: c.ids, Queue: c.queue, Filter: c.filter})
			return err
		})
		add(c.field, func() error {
			_, err := a.PurgeDead(s.ctx, &adminpb.PurgeDeadRequest{Tenant: c.tenant, Ids: c.ids, Queue: c.queue, Filter: c.filter})
			return err
		})
	}
	for field, in := range map[string]*adminpb.CancelTasksRequest{"tenant": {Tenant: "?", Ids: ids}, "ids": {}, "ids many": {Ids: many}} {
		add(strings.Fields(field)[0], func() error {
			_, err := a.CancelTasks(s.ctx, in)
			return err
		})
	}
	for _, name := range []string{"no spaces", "../x", strings.Repeat("x", 65), "x.partial"} {
		add("name", func() error {
			_, err := a.Backup(s.ctx, &adminpb.BackupRequest{Name: name})
			return err
		})
	}
	for i, c := range checks {
		t.Run(fmt.Sprint(i, " ", c.field), func(t *testing.T) { requireField(t, c.field, c.call()) })
	}
	assert.Len(t, s.claimNow(10, "q"), 3, "a refused call has no effect")
}

func TestAdminCallsOnWhatIsNotThere(t *testing.T) {
	s := serve(t, nil)
	a := s.administer()
	s.enqueue(newTasks("q", 1)...)
	for _, q := range []struct{ tenant, queue string }{{"", "none"}, {"other", "q"}} {
		_, err := a.GetQueue(s.ctx, &adminpb.GetQueueRequest{Tenant: q.tenant, Queue: q.queue})
		requireCode(t, codes.NotFound, err)
		_, err = a.PauseQueue(s.ctx, &adminpb.PauseQueueRequest{Tenant: q.tenant, Queue: q.queue})
		requireCode(t, codes.NotFound, err)
		require.ErrorContains(t, err, "create the queue by configuring it")
		_, err = a.ResumeQueue(s.ctx, &adminpb.ResumeQueueRequest{Tenant: q.tenant, Queue: q.queue})
		requireCode(t, codes.NotFound, err)
		_, err = a.PurgeQueue(s.ctx, &adminpb.PurgeQueueRequest{Tenant: q.tenant, Queue: q.queue})
		requireCode(t, codes.NotFound, err)
		_, err = a.ListTasks(s.ctx, &adminpb.ListTasksRequest{Tenant: q.tenant, Queue: q.queue, State: stateReady})
		requireCode(t, codes.NotFound, err)
		_, err = a.ListDead(s.ctx, &adminpb.ListDeadRequest{Tenant: q.tenant, Queue: q.queue})
		requireCode(t, codes.NotFound, err)
		_, err = a.RedriveDead(s.ctx, &adminpb.RedriveDeadRequest{Tenant: q.tenant, Queue: q.queue})
		requireCode(t, codes.NotFound, err)
		_, err = a.PurgeDead(s.ctx, &adminpb.PurgeDeadRequest{Tenant: q.tenant, Queue: q.queue})
		requireCode(t, codes.NotFound, err)
	}
	out, err := a.ListQueues(s.ctx, &adminpb.ListQueuesRequest{})
	require.NoError(t, err)
	assert.Len(t, out.GetQueues(), 1, "none of them created a queue")
}

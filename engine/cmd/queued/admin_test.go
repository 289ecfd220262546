package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/queuepb"
)

// admin is an admin service with fixed answers that records its requests.
type admin struct {
	adminpb.UnimplementedAdminServiceServer

	mu     sync.Mutex
	asked  []string // the requests, with the call's name
	tokens []string // the access tokens that they came with
	ready  bool
	pages  int // the number of pages in lists
	alone  bool
	// One node does not answer, the clock of another is wrong, and a shard has no leader.
	broken  bool
	removed bool // the answering node is no longer a member
	refuse  error
}

// serve starts the service and returns a shell whose commands reach it.
func (a *admin) serve(t *testing.T) *shell {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer(grpc.UnaryInterceptor(a.note))
	adminpb.RegisterAdminServiceServer(g, a)
	var serving sync.WaitGroup
	serving.Go(func() { assert.NoError(t, g.Serve(l)) })
	t.Cleanup(func() {
		g.Stop()
		serving.Wait()
	})
	return newShell(t, "QUEUED_ADMIN_SERVER="+l.Addr().String(), "QUEUED_TOKEN=s3cret")
}

func (a *admin) note(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	text, err := json.Marshal(document(request.(proto.Message)))
	if err != nil {
		return nil, err
	}
	in, _ := metadata.FromIncomingContext(ctx)
	a.mu.Lock()
	a.asked = append(a.asked, info.FullMethod[strings.LastIndex(info.FullMethod, "/")+1:]+" "+string(text))
	a.tokens = append(a.tokens, in.Get("authorization")...)
	refuse := a.refuse
	a.mu.Unlock()
	if refuse != nil {
		return nil, refuse
	}
	return next(ctx, request)
}

// take returns and clears the recorded requests.
func (a *admin) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.asked
	a.asked = nil
	return asked
}

// next returns the page token that follows token: pages are numbered.
func (a *admin) next(token string) string {
	n := 1
	_, _ = fmt.Sscan(token, &n)
	if n >= a.pages {
		return ""
	}
	return fmt.Sprint(n + 1)
}

const someTime = 1_900_000_000_000

func aQueue() *adminpb.Queue {
	return &adminpb.Queue{
		Tenant: "acme", Queue: "mail", Ready: 12, Delayed: 3, Leased: 2, Dead: 1, Bytes: 4096, Enqueued: 100, Completed: 80, Removed: 2,
		OldestReadyAgeMs: 61_000, EnqueuedPerS: 1.25, CompletedPerS: 0.5, Paused: true,
		Policy: &adminpb.QueuePolicy{MaxAttempts: 5, LeaseMs: 120_000, Backoff: &queuepb.Backoff{InitialMs: 1_000}, TtlMs: 86_400_000},
	}
}

func aTask() *queuepb.Task {
	return &queuepb.Task{
		Id: "0000000000000000000000g1", Tenant: "acme", Queue: "mail", Priority: 5, Payload: []byte("hello \x1b[31m"), Attempt: 3, MaxAttempts: 5,
		Token: 1<<63 + 1, EnqueuedAtMs: someTime, DueAtMs: someTime + 1_000, State: queuepb.TaskState_TASK_STATE_DELAYED, LastError: "no such mailbox",
		Headers: map[string]string{"kind": "welcome", "trace": "7f\x1b"},
	}
}

func (a *admin) ListQueues(_ context.Context, r *adminpb.ListQueuesRequest) (*adminpb.ListQueuesResponse, error) {
	return &adminpb.ListQueuesResponse{Queues: []*adminpb.Queue{aQueue(), {Tenant: "default", Queue: "import/2030"}}, NextPageToken: a.next(r.GetPageToken())}, nil
}

func (a *admin) GetQueue(_ context.Context, r *adminpb.GetQueueRequest) (*adminpb.GetQueueResponse, error) {
	if r.GetQueue() == "new" {
		return nil, status.Error(codes.NotFound, "queue new does not exist")
	}
	return &adminpb.GetQueueResponse{Queue: aQueue()}, nil
}

func (a *admin) ConfigureQueue(_ context.Context, r *adminpb.ConfigureQueueRequest) (*adminpb.ConfigureQueueResponse, error) {
	return &adminpb.ConfigureQueueResponse{Queue: &adminpb.Queue{Tenant: "acme", Queue: r.GetQueue(), Policy: r.GetPolicy()}}, nil
}

func (a *admin) PauseQueue(context.Context, *adminpb.PauseQueueRequest) (*adminpb.PauseQueueResponse, error) {
	return &adminpb.PauseQueueResponse{}, nil
}

func (a *admin) ResumeQueue(context.Context, *adminpb.ResumeQueueRequest) (*adminpb.ResumeQueueResponse, error) {
	return &adminpb.ResumeQueueResponse{}, nil
}

func (a *admin) PurgeQueue(context.Context, *adminpb.PurgeQueueRequest) (*adminpb.PurgeQueueResponse, error) {
	return &adminpb.PurgeQueueResponse{Removed: 15}, nil
}

func (a *admin) DeleteQueue(context.Context, *adminpb.DeleteQueueRequest) (*adminpb.DeleteQueueResponse, error) {
	return &adminpb.DeleteQueueResponse{Removed: 18}, nil
}

func (a *admin) ListTasks(_ context.Context, r *adminpb.ListTasksRequest) (*adminpb.ListTasksResponse, error) {
	return &adminpb.ListTasksResponse{Tasks: []*queuepb.Task{aTask()}, NextPageToken: a.next(r.GetPageToken())}, nil
}

// settled refuses the id "gone" and accepts all others.
func settled(ids []string) (results []*queuepb.SettleResult) {
	for i, id := range ids {
		r := &queuepb.SettleResult{}
		if id == "gone" {
			r.Error = &queuepb.ItemError{Index: uint32(i), Code: queuepb.ErrorCode_ERROR_CODE_NOT_FOUND, Message: "no such task"}
		}
		results = append(results, r)
	}
	return results
}

func (a *admin) ListAttempts(context.Context, *adminpb.ListAttemptsRequest) (*adminpb.ListAttemptsResponse, error) {
	return &adminpb.ListAttemptsResponse{Attempts: []*adminpb.Attempt{
		{Attempt: 1, EndedAtMs: someTime, Outcome: adminpb.Outcome_OUTCOME_LEASE_EXPIRED},
		{Attempt: 2, EndedAtMs: someTime, Outcome: adminpb.Outcome_OUTCOME_FAILED, Error: "no such mailbox"},
	}}, nil
}

func (a *admin) ListHistory(_ context.Context, r *adminpb.ListHistoryRequest) (*adminpb.ListHistoryResponse, error) {
	return &adminpb.ListHistoryResponse{Tasks: []*adminpb.FinishedTask{
		{
			Id: "b", Queue: "mail", Priority: 2, Finish: adminpb.Finish_FINISH_COMPLETED, Attempts: 1, EnqueuedAtMs: someTime, FirstClaimedAtMs: someTime, LastClaimedAtMs: someTime,
			FinishedAtMs: someTime, Headers: map[string]string{"kind": "welcome", "trace": "7f3a"},
		},
		{Id: "a", Queue: "mail", Finish: adminpb.Finish_FINISH_DIED, DeathReason: adminpb.DeathReason_DEATH_REASON_ATTEMPTS, Attempts: 2, FinishedAtMs: someTime, LastError: "no such mailbox"},
	}, NextPageToken: a.next(r.GetPageToken())}, nil
}

func (a *admin) ListFailures(context.Context, *adminpb.ListFailuresRequest) (*adminpb.ListFailuresResponse, error) {
	return &adminpb.ListFailuresResponse{Failures: []*adminpb.RecentFailure{
		{Tenant: "acme", Queue: "mail", Id: "b", Attempt: &adminpb.Attempt{EndedAtMs: someTime}, DeathReason: adminpb.DeathReason_DEATH_REASON_EXPIRED},
		{Tenant: "acme", Queue: "mail", Id: "a", Attempt: &adminpb.Attempt{Attempt: 2, EndedAtMs: someTime, Outcome: adminpb.Outcome_OUTCOME_FAILED, Error: "no such mailbox"}},
	}}, nil
}

func (a *admin) CancelTasks(_ context.Context, r *adminpb.CancelTasksRequest) (*adminpb.CancelTasksResponse, error) {
	return &adminpb.CancelTasksResponse{Results: settled(r.GetIds())}, nil
}

func (a *admin) ListDead(_ context.Context, r *adminpb.ListDeadRequest) (*adminpb.ListDeadResponse, error) {
	dead := aTask()
	dead.State = queuepb.TaskState_TASK_STATE_DEAD
	return &adminpb.ListDeadResponse{
		Tasks: []*adminpb.DeadTask{{Task: dead, DiedAtMs: someTime, Reason: adminpb.DeathReason_DEATH_REASON_ATTEMPTS, Attempts: []*adminpb.Attempt{
			{Attempt: 1, EndedAtMs: someTime, Outcome: adminpb.Outcome_OUTCOME_LEASE_EXPIRED},
			{Attempt: 2, EndedAtMs: someTime, Outcome: adminpb.Outcome_OUTCOME_FAILED, Error: "no such mailbox"},
		}}},
		NextPageToken: a.next(r.GetPageToken()),
	}, nil
}

func (a *admin) EditDead(context.Context, *adminpb.EditDeadRequest) (*adminpb.EditDeadResponse, error) {
	return &adminpb.EditDeadResponse{}, nil
}

func (a *admin) RescheduleTasks(_ context.Context, r *adminpb.RescheduleTasksRequest) (*adminpb.RescheduleTasksResponse, error) {
	return &adminpb.RescheduleTasksResponse{Results: settled(r.GetIds())}, nil
}

func (a *admin) PrioritizeTasks(_ context.Context, r *adminpb.PrioritizeTasksRequest) (*adminpb.PrioritizeTasksResponse, error) {
	return &adminpb.PrioritizeTasksResponse{Results: settled(r.GetIds())}, nil
}

func (a *admin) RedriveDead(_ context.Context, r *adminpb.RedriveDeadRequest) (*adminpb.RedriveDeadResponse, error) {
	return &adminpb.RedriveDeadResponse{Redriven: 4, Results: settled(r.GetIds())}, nil
}

func (a *admin) PurgeDead(_ context.Context, r *adminpb.PurgeDeadRequest) (*adminpb.PurgeDeadResponse, error) {
	return &adminpb.PurgeDeadResponse{Removed: 1, Results: settled(r.GetIds())}, nil
}

func (a *admin) ListTenants(_ context.Context, r *adminpb.ListTenantsRequest) (*adminpb.ListTenantsResponse, error) {
	out := &adminpb.ListTenantsResponse{Tenants: []*adminpb.Tenant{
		{Tenant: "acme", Queues: 3, Tasks: 12, Bytes: 4096, Leases: 2, Quotas: &adminpb.Quotas{TasksMax: 100, LeasesMax: 10, EnqueuesPerSMax: 50}},
		{Tenant: "default", Queues: 1},
	}}
	out.Tenants = slices.DeleteFunc(out.Tenants, func(t *adminpb.Tenant) bool { return r.GetTenant() != "" && t.GetTenant() != r.GetTenant() })
	return out, nil
}

func (a *admin) ConfigureTenant(_ context.Context, r *adminpb.ConfigureTenantRequest) (*adminpb.ConfigureTenantResponse, error) {
	return &adminpb.ConfigureTenantResponse{Tenant: &adminpb.Tenant{Tenant: r.GetTenant(), Quotas: r.GetQuotas()}}, nil
}

func aToken() *adminpb.Token {
	return &adminpb.Token{
		Id: "tok_1", Tenant: "acme", Scopes: []adminpb.Scope{adminpb.Scope_SCOPE_PRODUCE, adminpb.Scope_SCOPE_WORK}, Note: "web shop",
		CreatedAtMs: someTime, ExpiresAtMs: someTime + 1_000,
	}
}

func (a *admin) CreateToken(context.Context, *adminpb.CreateTokenRequest) (*adminpb.CreateTokenResponse, error) {
	return &adminpb.CreateTokenResponse{Token: aToken(), Secret: "5ecret"}, nil
}

func (a *admin) ListTokens(context.Context, *adminpb.ListTokensRequest) (*adminpb.ListTokensResponse, error) {
	return &adminpb.ListTokensResponse{Tokens: []*adminpb.Token{aToken(), {Id: "tok_2", Tenant: "*"}}}, nil
}

func (a *admin) RotateToken(context.Context, *adminpb.RotateTokenRequest) (*adminpb.RotateTokenResponse, error) {
	return &adminpb.RotateTokenResponse{Token: aToken(), Secret: "an0ther"}, nil
}

func (a *admin) RevokeToken(context.Context, *adminpb.RevokeTokenRequest) (*adminpb.RevokeTokenResponse, error) {
	return &adminpb.RevokeTokenResponse{}, nil
}

func (a *admin) Backup(_ context.Context, r *adminpb.BackupRequest) (*adminpb.BackupResponse, error) {
	return &adminpb.BackupResponse{Path: "/var/lib/queued/backups/" + or(r.GetName(), "now"), Bytes: 1 << 30}, nil
}

func (a *admin) GetStatus(context.Context, *adminpb.GetStatusRequest) (*adminpb.GetStatusResponse, error) {
	out := &adminpb.GetStatusResponse{Version: "v1", StartedAtMs: someTime, Shards: 2, Durability: "sync", Ready: a.ready, Queues: 3, Tasks: 18, Build: &adminpb.Build{Commit: "0123456789abcdef0123456789abcdef01234567"}}
	if !a.ready {
		out.NotReadyReason = "stopping"
	}
	return out, nil
}

func (a *admin) GetCluster(context.Context, *adminpb.GetClusterRequest) (*adminpb.GetClusterResponse, error) {
	if a.alone {
		return &adminpb.GetClusterResponse{}, nil
	}
	out := &adminpb.GetClusterResponse{
		Node: "n2",
		Members: []*adminpb.ClusterMember{
			{Node: "n1", PeerAddress: "10.0.0.1:7073", Address: "10.0.0.1:7070", Http: "10.0.0.1:7072", Admin: "10.0.0.1:7071", Voter: true, Reachable: true, Version: "v1", ClockAheadUs: new(int64(-1_250)), ClockErrorUs: 300},
			{Node: "n2", PeerAddress: "10.0.0.2:7073", Address: "10.0.0.2:7070", Http: "10.0.0.2:7072", Admin: "10.0.0.2:7071", Voter: true, Reachable: true, Version: "v1"},
			{Node: "n3", PeerAddress: "10.0.0.3:7073", Address: "10.0.0.3:7070", Reachable: true, Version: "v2"},
		},
		Groups: []*adminpb.ClusterGroup{
			{Shard: 0, Leader: "n1", Term: 4, LastIndex: 1_000, CommitIndex: 998, Replicas: []*adminpb.ClusterReplica{
				{Node: "n1", LastIndex: 1_000, AppliedIndex: 998, SnapshotIndex: 512}, {Node: "n2", LastIndex: 1_001, AppliedIndex: 998}, {Node: "n3", LastIndex: 400, AppliedIndex: 399},
			}},
			{Shard: 1, Leader: "n1", Term: 5, LastIndex: 7, CommitIndex: 7, Replicas: []*adminpb.ClusterReplica{{Node: "n1", LastIndex: 7}, {Node: "n2", LastIndex: 7}}},
		},
	}
	if a.removed {
		out.Members = append(out.Members[:1], out.Members[2:]...)
	}
	if a.broken {
		out.Members[0].Reachable, out.Members[0].Version, out.Groups[1].Leader = false, "", ""
		out.Members[0].LastAnswerMs = time.Date(2030, 1, 31, 9, 0, 0, 0, time.UTC).UnixMilli()
		out.Members[2].ClockAheadUs, out.Members[2].ClockProblem = new(int64(10_000_000)), "its clock is 10s ahead of the median of 3 voters"
	}
	return out, nil
}

func (a *admin) AddMember(context.Context, *adminpb.AddMemberRequest) (*adminpb.AddMemberResponse, error) {
	return &adminpb.AddMemberResponse{}, nil
}

func (a *admin) RemoveMember(context.Context, *adminpb.RemoveMemberRequest) (*adminpb.RemoveMemberResponse, error) {
	return &adminpb.RemoveMemberResponse{}, nil
}

func (a *admin) PromoteMember(context.Context, *adminpb.PromoteMemberRequest) (*adminpb.PromoteMemberResponse, error) {
	return &adminpb.PromoteMemberResponse{}, nil
}

func (a *admin) DemoteMember(context.Context, *adminpb.DemoteMemberRequest) (*adminpb.DemoteMemberResponse, error) {
	return &adminpb.DemoteMemberResponse{}, nil
}

func (a *admin) TransferLeadership(context.Context, *adminpb.TransferLeadershipRequest) (*adminpb.TransferLeadershipResponse, error) {
	return &adminpb.TransferLeadershipResponse{}, nil
}

func (a *admin) TakeSnapshot(context.Context, *adminpb.TakeSnapshotRequest) (*adminpb.TakeSnapshotResponse, error) {
	return &adminpb.TakeSnapshotResponse{}, nil
}

// administration has command lines of each kind.
var administration = []string{
	"status",
	"backup",
	"backup before-upgrade",
	"queues list",
	"queues list --prefix import/ --tenant acme --limit 2",
	"queues show mail",
	"queues configure mail --max-attempts 9 --backoff-multiplier 1.5 --backoff-jitter 10%",
	"queues configure mail --lease 5m --ttl 0s --reset",
	"queues configure new --placement ordered --result-retention 2d --backoff-initial 2s --backoff-max 1h",
	"queues pause mail --tenant acme",
	"queues resume mail",
	"queues purge mail --yes",
	"queues delete mail --force --yes",
	"recurring set mail digest daily --interval 15m --jitter 1m --missed run-all --missed-max 3 --overlap skip --header kind=digest --priority 5",
	"recurring set mail digest --cron @daily --time-zone Europe/Berlin --tenant acme",
	"recurring list --queue mail --limit 2",
	"recurring show mail digest",
	"recurring pause mail digest",
	"recurring resume mail digest",
	"recurring run mail digest",
	"recurring delete mail digest --tenant acme",
	"tasks list --queue mail --state delayed",
	"tasks list --queue mail --state ready --kind welcome",
	"tasks list --queue mail --state ready --payload-max 1KiB --limit 1",
	"tasks list --queue mail --state leased --header trace=a=b",
	"tasks attempts a",
	"tasks failures --queue mail --limit 5",
	"tasks history --queue mail --finish died --kind welcome --header trace=7f3a --finished-from 2030-01-31T00:00:00Z --finished-before 2030-02-01T00:00:00Z --limit 2",
	"queues configure mail --history-max 100 --history-retention 1d",
	"tasks cancel a b --yes",
	"tasks reschedule a b --now",
	"tasks reschedule a --at 2030-01-01T09:00:00Z --tenant acme",
	"tasks prioritize a b --priority 9 --tenant acme",
	"dead list --queue mail --reason attempts --error-contains box --died-from 2030-01-01T00:00:00Z --died-before 2031-01-01T00:00:00Z",
	"dead edit a corrected --tenant acme",
	"dead edit a --header kind=welcome",
	"dead edit a --remove-headers",
	"dead redrive a b",
	"dead redrive --queue mail --all",
	"dead redrive --queue mail --error-contains timeout --tenant acme",
	"dead redrive --queue mail --kind welcome",
	"dead redrive --queue mail --header trace=7f",
	"dead purge a --yes",
	"dead purge --queue mail --reason expired --yes",
	"tenants list",
	"tenants configure acme --tasks-max 5 --bytes-max 10GiB --payload-max 64KiB",
	"tenants configure acme --leases-max 7 --reset",
	"tenants configure new --enqueues-per-s-max 7",
	"tenants tokens create --tenant acme --scope produce,work --expires-in 90d --note shop",
	"tenants tokens create --tenant * --scope admin --scope work",
	"tenants tokens list --tenant acme",
	"tenants tokens rotate tok_1 --grace 1h",
	"tenants tokens revoke tok_1 --yes",
	"cluster status",
	"cluster add n4 10.0.0.4:7073",
	"cluster add n5 10.0.0.5:7073 --nonvoter",
	"cluster remove n3 --yes",
	"cluster promote n5",
	"cluster demote n3",
	"cluster transfer",
	"cluster transfer --shard 0 --to n2",
	"cluster transfer --to n2",
	"cluster snapshot",
	"cluster snapshot --shard 0",
}

// The golden file has the request of each command, and the answer as it prints it: as a table and
// as JSON.
func TestAdministrationIsAsWritten(t *testing.T) {
	a := &admin{ready: true, pages: 1}
	s := a.serve(t)
	s.clock.now = func() time.Time { return time.UnixMilli(someTime) }
	var b strings.Builder
	for _, command := range administration {
		fmt.Fprintf(&b, "$ queued %s\n", command)
		table := s.ok(strings.Fields(command)...)
		asked := a.take()
		for _, request := range asked {
			b.WriteString("asks " + request + "\n")
		}
		b.WriteString(table)
		b.WriteString(s.ok(append(strings.Fields(command), "-o", "json")...) + "\n")
		assert.Equal(t, asked, a.take(), "the output format does not change the request")
	}
	golden.Text(t, "testdata/administration.golden", b.String())
	slices.Sort(a.tokens)
	assert.Equal(t, []string{"Bearer s3cret"}, slices.Compact(a.tokens))
}

func TestListsAreWalkedPageByPage(t *testing.T) {
	a := &admin{pages: 3}
	s := a.serve(t)
	assert.Len(t, strings.Split(strings.TrimSpace(s.ok("queues", "list")), "\n"), 1+3*2)
	assert.Len(t, a.take(), 3)
	r := s.run("queues", "list", "--limit", "4")
	assert.Len(t, strings.Split(strings.TrimSpace(r.out), "\n"), 1+4)
	assert.Equal(t, "the list is longer: pass --page-token 3, or a larger --limit\n", r.err)
	assert.Len(t, a.take(), 2)
	var out struct {
		Tasks []any
		Next  string `json:"next_page_token"`
	}
	s.json(&out, "tasks", "list", "--queue", "q", "--state", "ready", "--limit", "1", "--page-token", "2")
	assert.Len(t, out.Tasks, 1)
	assert.Equal(t, "3", out.Next)
	assert.Equal(t, []string{`ListTasks {"tenant":"","queue":"q","state":"TASK_STATE_READY","page_size":1,"page_token":"2","kind":"","payload_bytes_max":0}`}, a.take())
	s.json(&out, "dead", "list", "--queue", "q", "--limit", "2500")
	assert.Len(t, out.Tasks, 3)
	assert.Contains(t, a.take()[0], `"page_size":1000`)
}

// Irreversible commands ask for confirmation on a terminal, and need --yes elsewhere.
func TestWhatCantBeUndoneIsAskedFor(t *testing.T) {
	a := &admin{pages: 1}
	s := a.serve(t)
	for _, command := range []string{
		"queues purge mail", "tasks cancel x", "dead purge x", "dead purge --queue q --all", "dead purge --queue q --reason expired", "tenants tokens revoke t",
		"cluster remove n3",
	} {
		args := strings.Fields(command)
		s.asks = false
		s.run(args...).fails(exitUsage, "pass --yes to confirm it")
		s.asks = true
		for _, answer := range []string{"", "no\n", "y\n", "yes please\n", strings.Repeat("yes", 100)} {
			s.in = answer
			s.run(args...).fails(exitFailed, "This will ", "nothing was done")
		}
		assert.Empty(t, a.take(), "the server was not asked to")
		for _, answer := range []string{"yes\n", "yes", " yes \n"} {
			s.in = answer
			assert.Equal(t, exitOK, s.run(args...).code)
		}
		assert.Len(t, a.take(), 3)
	}
}

func TestRefusalsOfTheServer(t *testing.T) {
	a := &admin{pages: 1}
	s := a.serve(t)
	s.clock = passing()
	s.run("status").fails(exitFailed, "queued: the server is not ready: stopping")
	a.broken = true
	r := s.run("cluster", "status", "--wait", "0s")
	r.fails(exitFailed, "queued: node n1 does not answer, since 2030-01-31T09:00:00.000Z; node n3 does not lead: its clock is 10s ahead of the median of 3 voters; shard 1 has no leader")
	assertRow(t, r.out, "n1", "voter", "no", "1 shard", "-1.25ms ±300µs", "-", "10.0.0.1:7073", "10.0.0.1:7070", "10.0.0.1:7072", "10.0.0.1:7071", "-")
	assertRow(t, r.out, "1", "none", "5", "7", "7", "n1 0, n2 0, n3 ?")
	a.broken, a.removed = false, true
	s.run("cluster", "status").fails(exitFailed, "queued: node n2, which was asked, is not a member\n")
	a.removed, a.alone = false, true
	assert.Equal(t, "this is a standalone server, started without --cluster-node\n", s.ok("cluster", "status"))
	s.run("dead", "redrive", "a", "gone").fails(exitUsage, "queued: gone: no such task")
	r = s.run("tasks", "cancel", "gone", "--yes", "-o", "json")
	r.fails(exitUsage)
	assert.Equal(t, "not_found", r.failure().Code)
	s.run("queues", "configure", "mail", "--reset", "--tenant", "x")
	for _, c := range []struct {
		refuse error
		code   int
		word   string
		says   string
	}{
		{status.Error(codes.Unauthenticated, "there is no access token"), exitUsage, "unauthenticated", "there is no access token\n  pass --token or --token-file"},
		{status.Error(codes.PermissionDenied, "the token has no scope admin"), exitUsage, "permission_denied", "the token has no scope admin"},
		{status.Error(codes.Unimplemented, "unknown method"), exitUsage, "unimplemented", "is it older than this program"},
		{status.Error(codes.Internal, "disk"), exitFailed, "internal", "queued: disk"},
		{status.Error(codes.Unavailable, "the server is stopping"), exitUnreachable, "unreachable", "the server is stopping"},
		// The server did answer.
		{status.Error(codes.DeadlineExceeded, "too slow"), exitFailed, "deadline_exceeded", "too slow"},
		{errors.New("plain"), exitFailed, "unknown", "plain"},
	} {
		a.mu.Lock()
		a.refuse = c.refuse
		a.mu.Unlock()
		for _, command := range administration {
			args := strings.Fields(command)
			s.run(args...).fails(c.code, c.says)
			r := s.run(append(args, "-o", "json")...)
			assert.Equal(t, c.word, r.failure().Code, command)
			assert.Empty(t, r.out)
		}
	}
}

// A command gives up on a silent server after the timeout.
func TestAServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // ends with the test
	s := newShell(t, "QUEUED_SERVER="+l.Addr().String(), "QUEUED_ADMIN_SERVER="+l.Addr().String())
	for _, r := range s.runAll([][]string{{"status", "--timeout", "20ms"}, {"claim", "--queue", "q", "--timeout", "20ms"}}) {
		r.fails(exitUnreachable, "can't reach the server at "+l.Addr().String())
	}
}

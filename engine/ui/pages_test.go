package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/queuepb"
)

// The golden file has the pages as an operator sees them who may change something, and as one who
// may not.
func TestPages(t *testing.T) {
	sheet := golden.Cases(t, "testdata/pages.golden")
	for _, changes := range []string{"", "yes"} {
		s := filled(t)
		s.signIn(access.AllTenants, access.AllScopes, changes)
		sheet.Replace(s.form(), "FORM")
		sheet.Replace(assetsRoot, "/ui/assets/HASH/")
		for _, path := range []string{
			"", "failures?tenant=acme", "recurring?tenant=acme", "recurring/task?tenant=acme&queue=mail&name=daily", "task?tenant=acme&id=1-done", "queue?tenant=acme&queue=mail&state=finished",
			"queue?tenant=acme&queue=mail&state=leased", "queue?tenant=acme&queue=mail&state=delayed", "task", "task?tenant=acme&id=1-abc",
			"dead?tenant=acme&queue=mail&reason=attempts&error=timeout&from=2026-01-31T15:04", "tenants", "cluster",
		} {
			name := fmt.Sprintf("%q %s", changes, path)
			text := tidy(s.get(Root + path))
			if path != "" { // the rest of the page is always the same
				text = text[strings.Index(text, "<main"):]
			}
			sheet.Equal(t, name, text)
		}
		s.cookies = nil
		sheet.Equal(t, fmt.Sprintf("%q login", changes), tidy(s.get(loginPath)))
	}
}

// tidy removes empty lines.
func tidy(text string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// filled is a site with an element of each kind.
func filled(t *testing.T) *site {
	t.Helper()
	s := newSite(t, nil)
	const at = 1_790_000_000_000
	task := &queuepb.Task{
		Id: "1-abc", Tenant: "acme", Queue: "mail", Priority: 3, Payload: []byte(`{"to":"<a@example.com>","n":[1,2]}`), Attempt: 2, MaxAttempts: 20,
		LeaseExpiresAtMs: at + 30_000, EnqueuedAtMs: at, State: queuepb.TaskState_TASK_STATE_LEASED, DueAtMs: at + 60_000, LastError: "timeout <after> 5 s",
		Headers: map[string]string{"kind": "welcome", "trace": "a & b"},
	}
	note := "row 5,000 of <12,000>"
	task.Note, s.tasks.task = &note, task
	s.tasks.result = &queuepb.AwaitResultResponse{State: queuepb.TaskState_TASK_STATE_DONE, Result: []byte(`{"sent":true}`), CompletedAtMs: at + 1_000, RetainedUntilMs: at + 60_000}
	s.tasks.dependencies = []*queuepb.Dependency{
		{Id: "1-cat", Outcome: queuepb.DependencyOutcome_DEPENDENCY_OUTCOME_DONE, Result: []byte(`{"url":"<cat>"}`)},
		{Id: "1-dog", Outcome: queuepb.DependencyOutcome_DEPENDENCY_OUTCOME_DONE, ResultOmitted: true},
		{Id: "1-owl", Outcome: queuepb.DependencyOutcome_DEPENDENCY_OUTCOME_DONE, Result: []byte{0, 1}},
		{Id: "1-eel", Outcome: queuepb.DependencyOutcome_DEPENDENCY_OUTCOME_DEAD},
	}
	s.admin.recurring = []*adminpb.Recurring{{
		Tenant: "acme", Queue: "mail", Name: "daily", NextMs: []int64{at + 1_000, at + 2_000, at + 3_000, at + 4_000, at + 5_000}, LastId: "1-abc", Unfinished: true,
		Runs: 1_234, Missed: 2, Overlapped: 3, Refused: 4, Spec: &adminpb.RecurringSpec{
			Cron: "0 9 * * *", TimeZone: "Europe/Berlin", JitterMs: 30_000, Missed: adminpb.MissedRuns_MISSED_RUNS_RUN_ALL, MissedMax: 5, Overlap: adminpb.Overlap_OVERLAP_SKIP,
			Task: &adminpb.RecurringTemplate{
				Payload: []byte("<b>"), Headers: map[string]string{"kind": "digest", "a": "b & c"}, Priority: 5, MaxAttempts: 3, LeaseMs: 60_000, TtlMs: 3_600_000, ResultRetentionMs: 120_000,
			},
		},
	}, {
		Tenant: "acme", Queue: "reports", Name: "hourly", Paused: true,
		Spec: &adminpb.RecurringSpec{IntervalMs: 5_400_000, Missed: adminpb.MissedRuns_MISSED_RUNS_SKIP, Overlap: adminpb.Overlap_OVERLAP_ALLOW, Task: &adminpb.RecurringTemplate{}},
	}}
	s.admin.queues = []*adminpb.Queue{
		{
			Tenant: "acme", Queue: "mail", Paused: true, Ready: 1_234, Parked: 200, Delayed: 2, Waiting: 7, Leased: 3, Dead: 4, OldestReadyAgeMs: 93_784_000, EnqueuedPerS: 12.4, CompletedPerS: 0.25,
			Events: &adminpb.QueueEvents{FailedAttempts: 30, ExpiredLeases: 12, Retries: 38, DeadAttempts: 3, DeadPermanent: 1, DeadDependency: 5},
			Bytes:  5 << 20, Enqueued: 10_000, Completed: 8_757, Policy: &adminpb.QueuePolicy{
				Placement: adminpb.Placement_PLACEMENT_ORDERED, MaxAttempts: 7, LeaseMs: 90_000, HistoryTasksMax: 1_000, HistoryRetentionMs: 604_800_000,
				Limit: &adminpb.Limit{LeasedMax: 5, RatePerS: 2.5, Burst: 3}, GroupLimit: &adminpb.Limit{RatePerS: 10},
			},
		},
		{Tenant: "acme", Queue: "reports"},
	}
	s.admin.tasks, s.admin.next = []*queuepb.Task{task}, "TOKEN"
	s.admin.attempts = []*adminpb.Attempt{{Attempt: 1, EndedAtMs: at + 1_000, Outcome: adminpb.Outcome_OUTCOME_FAILED, Error: "timeout <after> 5 s"}}
	s.admin.history = []*adminpb.FinishedTask{
		{
			Id: "1-old", Queue: "mail", Finish: adminpb.Finish_FINISH_DIED, DeathReason: adminpb.DeathReason_DEATH_REASON_ATTEMPTS, Attempts: 20, EnqueuedAtMs: at, FirstClaimedAtMs: at + 1_000,
			LastClaimedAtMs: at + 2_000, FinishedAtMs: at + 3_000, Headers: task.Headers, LastError: "timeout <after> 5 s",
		},
		{Id: "1-older", Queue: "mail", Finish: adminpb.Finish_FINISH_PURGED, FinishedAtMs: at},
	}
	s.admin.failures = []*adminpb.RecentFailure{
		{Tenant: "acme", Queue: "mail", Id: "1-x", Attempt: &adminpb.Attempt{EndedAtMs: at + 3_000}, DeathReason: adminpb.DeathReason_DEATH_REASON_EXPIRED},
		{Tenant: "acme", Queue: "mail", Id: "1-abc", Attempt: s.admin.attempts[0]},
	}
	s.admin.dead = []*adminpb.DeadTask{{
		Task: task, DiedAtMs: at + 90_000, Reason: adminpb.DeathReason_DEATH_REASON_ATTEMPTS, Attempts: []*adminpb.Attempt{
			{Attempt: 1, EndedAtMs: at + 1_000, Outcome: adminpb.Outcome_OUTCOME_LEASE_EXPIRED},
			{Attempt: 2, EndedAtMs: at + 2_000, Outcome: adminpb.Outcome_OUTCOME_FAILED, Error: "timeout <after> 5 s"},
		},
	}}
	s.admin.tenants = []*adminpb.Tenant{
		{Tenant: "acme", Queues: 2, Tasks: 1_243, Bytes: 5 << 20, Leases: 3, Quotas: &adminpb.Quotas{TasksMax: 1_000_000, BytesMax: 1 << 30, EnqueuesPerSMax: 5_000, PayloadBytesMax: 64 << 10}},
		{Tenant: "free", Queues: 1},
	}
	s.admin.cluster = &adminpb.GetClusterResponse{
		Node: "n1", Outage: "n3 is missing",
		Members: []*adminpb.ClusterMember{
			{Node: "n1", PeerAddress: "127.0.0.1:7073", Voter: true, Reachable: true, Version: "v1", DiskState: adminpb.DiskState_DISK_STATE_OK, DiskFreeBytes: 3 << 30},
			{Node: "n3", PeerAddress: "127.0.0.1:7075", Voter: true, LastAnswerMs: at, ClockProblem: "the clock is 2 s ahead"},
		},
		Groups: []*adminpb.ClusterGroup{{
			Shard: 0, Leader: "n1", Term: 4, LastIndex: 1_010, CommitIndex: 1_009,
			Replicas: []*adminpb.ClusterReplica{{Node: "n1", AppliedIndex: 1_009}, {Node: "n2", AppliedIndex: 1_000}, {Node: "n3", AppliedIndex: 1_010}},
		}, {Shard: 1, Term: 2}},
	}
	return s
}

func TestTenantsArePaged(t *testing.T) {
	s := newSite(t, nil)
	s.admin.tenants, s.admin.next = []*adminpb.Tenant{{Tenant: "t0"}}, "second"
	s.signIn(access.AllTenants, access.AllScopes, "")
	require.Contains(t, s.get(Root+"tenants"), `href="/ui/tenants?page=second"`)
	s.admin.next = ""
	text := s.get(Root + "tenants?page=second")
	require.Equal(t, 1, strings.Count(text, `<th scope="row">`))
	require.NotContains(t, text, "page=")
	asked := s.admin.calls[len(s.admin.calls)-2:]
	require.True(t, proto.Equal(&adminpb.ListTenantsRequest{PageSize: rows}, asked[0].(proto.Message)), "%v", asked[0])
	require.True(t, proto.Equal(&adminpb.ListTenantsRequest{PageSize: rows, PageToken: "second"}, asked[1].(proto.Message)), "%v", asked[1])
}

func TestAStandaloneServerHasNoMembers(t *testing.T) {
	s := newSite(t, nil)
	s.admin.cluster = &adminpb.GetClusterResponse{}
	s.signIn(access.AllTenants, access.AllScopes, "")
	require.Contains(t, s.get(Root+"cluster"), "standalone server")
}

package node

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/pronybench/prony/engine/internal/waittest"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

const adminPatience = waittest.Most

type adminTest struct {
	*testing.T
	node *Node
	conn *grpc.ClientConn
	api  queuepb.QueueServiceClient
	ctx  context.Context
	http *http.Client
}

func newAdminTest(t *testing.T) *adminTest {
	t.Helper()
	n, err := Open(Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, Admin: "127.0.0.1:0", Durability: storage.None, Metrics: Metrics{Tenants: true}})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
	conn, err := grpc.NewClient("passthrough:///"+n.Addresses()[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	a := &adminTest{T: t, node: n, conn: conn, api: queuepb.NewQueueServiceClient(conn), ctx: ctx, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		if !n.storesClosed {
			require.NoError(t, n.Shutdown(ctx))
		}
		cancel()
	})
	return a
}

func (a *adminTest) ask(method, path string) (status int, body string) {
	a.Helper()
	in, err := http.NewRequestWithContext(a.ctx, method, "http://"+a.node.Admin()+path, nil)
	require.NoError(a, err)
	out, err := a.http.Do(in)
	require.NoError(a, err)
	text, err := io.ReadAll(out.Body)
	require.NoError(a, errors.Join(err, out.Body.Close()))
	return out.StatusCode, string(text)
}

// someTasks creates these tasks in queue q of tenant t0: 2 ready, 1 leased, 1 delayed, 1 dead, and
// 1 completed.
func (a *adminTest) someTasks() {
	a.Helper()
	const tenant = "t0"
	enqueue := func(tasks ...*queuepb.NewTask) {
		_, err := a.api.Enqueue(a.ctx, &queuepb.EnqueueRequest{Tenant: tenant, Tasks: tasks})
		require.NoError(a, err)
	}
	claim := func() *queuepb.Task {
		out, err := a.api.Claim(a.ctx, &queuepb.ClaimRequest{Tenant: tenant, Queues: []string{"q"}, WaitMs: 10_000})
		require.NoError(a, err)
		require.Len(a, out.GetTasks(), 1)
		return out.GetTasks()[0]
	}
	enqueue(&queuepb.NewTask{Queue: "q"}, &queuepb.NewTask{Queue: "q", MaxAttempts: 1}, &queuepb.NewTask{Queue: "q"})
	done := claim()
	_, err := a.api.Complete(a.ctx, &queuepb.CompleteRequest{Tenant: tenant, Completions: []*queuepb.Completion{{Id: done.GetId(), Token: done.GetToken()}}})
	require.NoError(a, err)
	dead := claim()
	_, err = a.api.Fail(a.ctx, &queuepb.FailRequest{Tenant: tenant, Failures: []*queuepb.Failure{{Id: dead.GetId(), Token: dead.GetToken()}}})
	require.NoError(a, err)
	claim()
	enqueue(&queuepb.NewTask{Queue: "q"}, &queuepb.NewTask{Queue: "q", Priority: 3}, &queuepb.NewTask{Queue: "q", DelayMs: 3600_000})
}

func TestProbesOfARunningNode(t *testing.T) {
	a := newAdminTest(t)
	for _, path := range []string{"/livez", "/readyz"} {
		status, body := a.ask(http.MethodGet, path)
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, "ok\n", body)
	}
	status, _ := a.ask(http.MethodGet, "/unknown")
	assert.Equal(t, http.StatusNotFound, status)
	status, _ = a.ask(http.MethodPost, "/readyz")
	assert.Equal(t, http.StatusMethodNotAllowed, status)
}

func TestAFailedNodeIsNotReadyWhoeverAsksHoweverOften(t *testing.T) {
	a := newAdminTest(t)
	a.node.fail(errors.New("the disk is gone"))
	a.node.fail(errors.New("another error"))
	unready := func() {
		status, body := a.ask(http.MethodGet, "/readyz")
		assert.Equal(t, http.StatusServiceUnavailable, status)
		assert.Contains(t, body, "the disk is gone")
	}
	unready()
	unready()
	require.EqualError(t, <-a.node.Failed(), "the disk is gone")
	unready()
	status, _ := a.ask(http.MethodGet, "/livez")
	assert.Equal(t, http.StatusOK, status)
	out, err := healthpb.NewHealthClient(a.conn).Check(a.ctx, &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	assert.Equal(t, healthpb.HealthCheckResponse_NOT_SERVING, out.GetStatus())
}

func TestAStoppingNodeIsNotReady(t *testing.T) {
	a := newAdminTest(t)
	// A reflection stream never ends: it delays the shutdown until the test cancels it.
	hold, release := context.WithCancel(a.ctx)
	defer release()
	stream, err := reflectionpb.NewServerReflectionClient(a.conn).ServerReflectionInfo(hold)
	require.NoError(t, err)
	require.NoError(t, stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}))
	_, err = stream.Recv()
	require.NoError(t, err)
	stopped := make(chan error, 1)
	go func() { stopped <- a.node.Shutdown(a.ctx) }()
	require.Eventually(t, func() bool {
		status, body := a.ask(http.MethodGet, "/readyz")
		return status == http.StatusServiceUnavailable && body == "stopping\n"
	}, adminPatience, time.Millisecond)
	status, _ := a.ask(http.MethodGet, "/livez")
	assert.Equal(t, http.StatusOK, status)
	release()
	require.NoError(t, <-stopped)
}

func TestShutdownCutsWhatDoesNotEndInTime(t *testing.T) {
	a := newAdminTest(t)
	stream, err := reflectionpb.NewServerReflectionClient(a.conn).ServerReflectionInfo(a.ctx)
	require.NoError(t, err)
	require.NoError(t, stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}))
	_, err = stream.Recv()
	require.NoError(t, err)
	over, cancel := context.WithTimeout(a.ctx, 20*time.Millisecond)
	defer cancel()
	require.NoError(t, a.node.Shutdown(over))
	_, err = stream.Recv()
	require.Error(t, err)
}

func TestAuditCountsWhatIsStored(t *testing.T) {
	a := newAdminTest(t)
	status, body := a.ask(http.MethodGet, "/audit")
	require.Equal(t, http.StatusOK, status)
	assert.JSONEq(t, `{"queues":[]}`, body)
	a.someTasks()
	_, body = a.ask(http.MethodGet, "/audit")
	assert.JSONEq(t, `{"queues":[{"tenant":"t0","queue":"q","enqueued":6,"completed":1,"ready":2,"leased":1,"delayed":1,"dead":1,"stored":5,
		"found":{"ready":2,"leased":1,"delayed":1,"dead":1}}]}`, body)
	require.NoError(t, a.node.Shutdown(a.ctx))
	// A request to a closed store is refused and does not crash the server.
	w := &recorder{header: http.Header{}}
	a.node.audit(w, nil)
	assert.Equal(t, http.StatusServiceUnavailable, w.status)
}

type recorder struct {
	header http.Header
	status int
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return len(b), nil }

func TestMetrics(t *testing.T) {
	a := newAdminTest(t)
	a.someTasks()
	status, body := a.ask(http.MethodGet, "/metrics")
	require.Equal(t, http.StatusOK, status)
	for _, line := range []string{
		`prony_queue_enqueued_total{queue="q",tenant="t0"} 6`,
		`prony_queue_completed_total{queue="q",tenant="t0"} 1`,
		`prony_queue_tasks{queue="q",state="ready",tenant="t0"} 2`,
		`prony_queue_tasks{queue="q",state="leased",tenant="t0"} 1`,
		`prony_queue_tasks{queue="q",state="delayed",tenant="t0"} 1`,
		`prony_queue_tasks{queue="q",state="dead",tenant="t0"} 1`,
	} {
		assert.Contains(t, body, line+"\n")
	}
	for _, name := range []string{
		`prony_commit_seconds_count{shard="0"}`, `prony_commit_commands_count{shard="0"}`, `prony_storage_sets_total{shard="0"}`,
		`prony_storage_set_bytes_total{shard="0"}`, `prony_storage_gets_total{shard="0"}`, `prony_storage_young_put_total{shard="0"}`,
		`prony_stage_seconds_count{shard="0",stage="inbox"}`, `prony_stage_seconds_count{shard="0",stage="decide"}`,
		`prony_stage_seconds_count{shard="0",stage="apply"}`, `prony_stage_seconds_count{shard="0",stage="commit"}`,
		`prony_stage_seconds_count{shard="0",stage="reply"}`, `prony_stage_seconds_bucket{shard="0",stage="apply",le="+Inf"}`,
		`prony_storage_step_encodes_total{shard="0",step="enqueue"}`, `prony_storage_step_encoded_bytes_total{shard="0",step="claim"}`,
		`prony_storage_step_sets_total{shard="0",step="commit"}`, `prony_storage_step_set_bytes_total{shard="0",step="commit"}`,
		`prony_storage_scanned_keys_total{shard="0"}`, `prony_storage_fsyncs_total{shard="0"}`,
		`prony_storage_fsync_seconds_total{shard="0"}`,
		"go_goroutines", "prony_ready", "prony_queues",
	} {
		assert.True(t, strings.Contains(body, "\n"+name+" "), name)
		assert.False(t, strings.Contains(body, "\n"+name+" 0\n"), name)
	}
	for _, name := range []string{
		"process_cpu_seconds_total ", "prony_build_info{go_version=",
		`prony_storage_task_bytes_total{shard="0"} `, `prony_storage_payload_bytes_total{shard="0"} `, `prony_storage_deletes_total{shard="0"} `,
		`prony_storage_step_deletes_total{shard="0",step="settle"} `, `prony_storage_step_gets_total{shard="0",step="other"} `,
		`prony_storage_step_decodes_total{shard="0",step="other"} `, `prony_storage_step_scanned_keys_total{shard="0",step="claim"} `,
	} {
		assert.True(t, strings.Contains(body, "\n"+name), name)
	}
}

func TestProfiles(t *testing.T) {
	a := newAdminTest(t)
	for _, path := range []string{"mutex", "block", "allocs", "heap", "goroutine", "profile?seconds=1"} {
		status, body := a.ask(http.MethodGet, "/debug/pprof/"+path)
		assert.Equal(t, http.StatusOK, status, path)
		assert.True(t, strings.HasPrefix(body, "\x1f\x8b"), "%s is not a gzipped profile", path)
	}
}

func TestRates(t *testing.T) {
	a := newAdminTest(t)
	before := runtime.SetMutexProfileFraction(-1)
	defer func() {
		runtime.SetMutexProfileFraction(before)
		runtime.SetBlockProfileRate(0)
	}()
	put := func(query string) map[string]int {
		t.Helper()
		status, body := a.ask(http.MethodPut, "/debug/rates"+query)
		require.Equal(t, http.StatusOK, status, body)
		var out map[string]int
		require.NoError(t, json.Unmarshal([]byte(body), &out))
		return out
	}
	assert.Equal(t, map[string]int{"mutex": 7, "block": 10_000}, put("?mutex=7&block=10000"))
	assert.Equal(t, 7, runtime.SetMutexProfileFraction(-1))
	assert.Equal(t, map[string]int{"mutex": 9, "block": 10_000}, put("?mutex=9"), "an omitted rate stays")
	assert.Equal(t, map[string]int{"mutex": 9, "block": 0}, put("?block=0"))
	assert.Equal(t, map[string]int{"mutex": 9, "block": 0}, put(""))
	for _, query := range []string{"?mutex=-1", "?block=x", "?mutex=1.5", "?mutex=3&block=-1", "?block=99999999999999999999"} {
		status, body := a.ask(http.MethodPut, "/debug/rates"+query)
		assert.Equal(t, http.StatusBadRequest, status, query)
		assert.Contains(t, body, "whole number")
	}
	assert.Equal(t, map[string]int{"mutex": 9, "block": 0}, put(""), "a refused call changes no rate")
	assert.Equal(t, map[string]int{"mutex": 0, "block": 0}, put("?mutex=0"))
	status, _ := a.ask(http.MethodGet, "/debug/rates")
	assert.Equal(t, http.StatusMethodNotAllowed, status)
}

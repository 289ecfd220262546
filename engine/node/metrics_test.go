package node

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pronybench/prony/engine/queuepb"
)

// scrape returns the content of /metrics by name and labels.
func scrape(t *testing.T, n *Node) map[string]string {
	t.Helper()
	code, body := ask(t, n.Admin(), "/metrics")
	require.Equal(t, http.StatusOK, code, "%s", body)
	out := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(body)); lines.Scan(); {
		if line := lines.Text(); !strings.HasPrefix(line, "#") {
			space := strings.LastIndexByte(line, ' ')
			require.NotContains(t, out, line[:space])
			out[line[:space]] = line[space+1:]
		}
	}
	return out
}

func TestCallsAreCounted(t *testing.T) {
	r := newRESTNode(t)
	conn, err := grpc.NewClient("passthrough:///"+r.node.Addresses()[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // the test's own
	c := queuepb.NewQueueServiceClient(conn)

	// Each API receives two good tasks, two bad ones, and a refused call.
	tasks := []*queuepb.NewTask{{Queue: "q"}, {Queue: ""}, {Queue: "q"}, {Queue: "q", Priority: 10}}
	_, err = c.Enqueue(r.ctx, &queuepb.EnqueueRequest{Tasks: tasks})
	require.NoError(t, err)
	_, err = c.Enqueue(r.ctx, &queuepb.EnqueueRequest{})
	require.Error(t, err)
	r.post("/v1/tasks:enqueue", `{"tasks":[{"queue":"q"},{},{"queue":"q"},{"queue":"q","priority":10}]}`, &queuepb.EnqueueResponse{})
	_, _, err = r.send(r.ctx, http.MethodPost, "/v1/tasks:enqueue", `{}`)
	require.NoError(t, err)
	_, _, err = r.send(r.ctx, http.MethodPost, "/v1/tasks:enqueue", `not JSON`)
	require.NoError(t, err)
	claimed := r.claim("q", 0)
	require.Len(t, claimed, 1)
	stale := &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: claimed[0].GetId(), Token: 1 << 60}}}
	_, err = c.Complete(r.ctx, stale)
	require.NoError(t, err)
	// Over REST, the call fails with its only item. The refusal is counted once, under the same
	// name.
	code, _, err := r.send(r.ctx, http.MethodPost, "/v1/tasks:complete", fmt.Sprintf(`{"completions":[{"id":%q,"token":"1"}]}`, claimed[0].GetId()))
	require.NoError(t, err)
	require.Equal(t, http.StatusConflict, code)

	m := scrape(t, r.node)
	for series, want := range map[string]string{
		`prony_calls_total{api="grpc",code="OK",method="Enqueue"}`:                  "1",
		`prony_calls_total{api="grpc",code="InvalidArgument",method="Enqueue"}`:     "1",
		`prony_calls_total{api="rest",code="OK",method="Enqueue"}`:                  "1",
		`prony_calls_total{api="rest",code="InvalidArgument",method="Enqueue"}`:     "2",
		`prony_calls_total{api="rest",code="OK",method="Claim"}`:                    "1",
		`prony_call_seconds_count{api="grpc",method="Enqueue"}`:                     "2",
		`prony_call_seconds_count{api="rest",method="Enqueue"}`:                     "3",
		`prony_refusals_total{of="call",reason="invalid_argument"}`:                 "3",
		`prony_refusals_total{of="item",reason="invalid_argument"}`:                 "4",
		`prony_refusals_total{of="item",reason="stale_token"}`:                      "2",
		`prony_calls_total{api="rest",code="FailedPrecondition",method="Complete"}`: "1",
		`prony_call_seconds_count{api="rest",method="Complete"}`:                    "1",
		`prony_queue_removed_total{queue="q",tenant="default"}`:                     "0", `prony_payload_bytes`: "0",
		`prony_enqueued_total`: "4", `prony_completed_total`: "0", `prony_queues`: "1", `prony_ready`: "1",
		`prony_queue_tasks{queue="q",state="ready",tenant="default"}`: "3",
	} {
		assert.Equal(t, want, m[series], series)
	}
}

// Each kind of call that submits a command is timed in the stage receive, over both APIs. One call
// in 16 counts for 16.
func TestReceiveOfEachCallIsTimed(t *testing.T) {
	r := newRESTNode(t)
	conn, err := grpc.NewClient("passthrough:///"+r.node.Addresses()[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // the test's own
	c := queuepb.NewQueueServiceClient(conn)
	enqueue := &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}}
	enqueued, err := c.Enqueue(r.ctx, enqueue)
	require.NoError(t, err)
	id := enqueued.GetResults()[0].GetId()
	counted := 0
	for _, call := range []struct {
		name  string
		do    func() error
		calls int // one enqueue was made before
	}{
		{"enqueue", func() error { _, err := c.Enqueue(r.ctx, enqueue); return err }, 15},
		{"claim", func() error { _, err := c.Claim(r.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}}); return err }, 16},
		{"claim that waits", func() error {
			_, err := c.Claim(r.ctx, &queuepb.ClaimRequest{Queues: []string{"empty"}, WaitMs: 1})
			return err
		}, 16},
		{"complete", func() error {
			_, err := c.Complete(r.ctx, &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: id, Token: 1 << 60}}})
			return err
		}, 16},
		{"get", func() error { _, err := c.GetTask(r.ctx, &queuepb.GetTaskRequest{Id: id}); return err }, 16},
		{"enqueue over REST", func() error {
			r.post("/v1/tasks:enqueue", `{"tasks":[{"queue":"q"}]}`, &queuepb.EnqueueResponse{})
			return nil
		}, 16},
		{"get over REST", func() error { _, _, err := r.send(r.ctx, http.MethodGet, "/v1/tasks/"+id, ""); return err }, 16},
	} {
		for range call.calls {
			require.NoError(t, call.do(), call.name)
		}
		counted += 16
		assert.Equal(t, strconv.Itoa(counted), scrape(t, r.node)[`prony_stage_seconds_count{shard="",stage="receive"}`], call.name)
	}
}

func TestStreamsAreCounted(t *testing.T) {
	r := newRESTNode(t)
	conn, err := grpc.NewClient("passthrough:///"+r.node.Addresses()[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // the test's own
	c := queuepb.NewQueueServiceClient(conn)
	produce, err := c.Produce(r.ctx)
	require.NoError(t, err)
	require.NoError(t, produce.Send(&queuepb.ProduceRequest{Frame: 1, Tasks: []*queuepb.NewTask{{Queue: "q"}, {}, {}}}))
	_, err = produce.Recv()
	require.NoError(t, err)
	work, err := c.Work(r.ctx)
	require.NoError(t, err)
	require.NoError(t, work.Send(&queuepb.WorkRequest{
		Open: &queuepb.WorkOpen{Queues: []string{"empty"}}, Frame: 1, Settlements: []*queuepb.Settlement{{Id: "x", Action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE}},
	}))
	_, err = work.Recv()
	require.NoError(t, err)
	m := scrape(t, r.node)
	assert.Equal(t, "1", m[`prony_streams_open{method="Produce"}`])
	assert.Equal(t, "1", m[`prony_streams_open{method="Work"}`])
	assert.Equal(t, "1", m[`prony_stream_frames_total{method="Produce"}`])
	assert.Equal(t, "1", m[`prony_stream_frames_total{method="Work"}`])
	assert.Equal(t, "3", m[`prony_refusals_total{of="item",reason="invalid_argument"}`])
	require.NoError(t, produce.CloseSend())
	_, err = produce.Recv()
	require.Error(t, err)
	require.Eventually(t, func() bool { return scrape(t, r.node)[`prony_streams_open{method="Produce"}`] == "0" }, adminPatience, 1)
	m = scrape(t, r.node)
	assert.Equal(t, "1", m[`prony_calls_total{api="grpc",code="OK",method="Produce"}`])
	assert.NotContains(t, m, `prony_call_seconds_count{api="grpc",method="Produce"}`, "a stream is not counted as a call")
	require.NoError(t, work.CloseSend())
	_, err = work.Recv()
	require.Error(t, err)
}

// The figures of Pebble and of the runtime are exported for each shard.
func TestStoresAndRuntimeAreShown(t *testing.T) {
	n := newRESTNode(t).node
	m := scrape(t, n)
	for _, name := range []string{
		"flushes_total", "flushed_bytes_total", "compactions_total", "compacted_bytes_total", "compaction_seconds_total",
		"compaction_debt_bytes", "wal_bytes_total", "memtable_bytes", "memtables", "tables", "table_bytes", "tombstones",
		"read_amplification", "write_stalls_total", "write_stall_seconds_total",
	} {
		assert.Contains(t, m, `prony_pebble_`+name+`{shard="0"}`)
	}
	assert.NotEqual(t, "0", m[`prony_pebble_memtable_bytes{shard="0"}`])
	for _, name := range []string{"new_total", "hits_total", "false_hits_total", "bytes", "keys"} {
		assert.Equal(t, "0", m[`prony_key_filter_`+name+`{shard="0"}`], name)
	}
	for _, name := range []string{"records", "bytes", "logs", "put_total", "stored_total", "retirements_total"} {
		assert.Contains(t, m, `prony_storage_young_`+name+`{shard="0"}`)
	}
	for _, name := range []string{
		"go_gc_cycles_total_gc_cycles_total", "go_sched_pauses_total_gc_seconds_count", `go_sched_pauses_total_gc_seconds_bucket{le="+Inf"}`,
		"go_memstats_mallocs_total", "go_memstats_alloc_bytes_total", "go_goroutines",
	} {
		assert.Contains(t, m, name)
	}
}

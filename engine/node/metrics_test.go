package node

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
)

// scrape returns what /metrics shows, by name and labels.
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

	// Two good tasks and two bad ones over each API, and a refused call.
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

	m := scrape(t, r.node)
	for series, want := range map[string]string{
		`prony_calls_total{api="grpc",code="OK",method="Enqueue"}`:              "1",
		`prony_calls_total{api="grpc",code="InvalidArgument",method="Enqueue"}`: "1",
		`prony_calls_total{api="rest",code="OK",method="Enqueue"}`:              "1",
		`prony_calls_total{api="rest",code="InvalidArgument",method="Enqueue"}`: "2",
		`prony_calls_total{api="rest",code="OK",method="Claim"}`:                "1",
		`prony_call_seconds_count{api="grpc",method="Enqueue"}`:                 "2",
		`prony_call_seconds_count{api="rest",method="Enqueue"}`:                 "3",
		`prony_refusals_total{of="call",reason="invalid_argument"}`:             "3",
		`prony_refusals_total{of="item",reason="invalid_argument"}`:             "4",
		`prony_refusals_total{of="item",reason="stale_token"}`:                  "1",
		`prony_queue_removed_total{queue="q",tenant="default"}`:                 "0", `prony_payload_bytes`: "0",
		`prony_enqueued_total`: "4", `prony_completed_total`: "0", `prony_queues`: "1", `prony_ready`: "1",
		`prony_queue_tasks{queue="q",state="ready",tenant="default"}`: "3",
	} {
		assert.Equal(t, want, m[series], series)
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
	assert.Equal(t, "3", m[`prony_refusals_total{of="item",reason="invalid_argument"}`])
	require.NoError(t, produce.CloseSend())
	_, err = produce.Recv()
	require.Error(t, err)
	require.Eventually(t, func() bool { return scrape(t, r.node)[`prony_streams_open{method="Produce"}`] == "0" }, adminPatience, 1)
	m = scrape(t, r.node)
	assert.Equal(t, "1", m[`prony_calls_total{api="grpc",code="OK",method="Produce"}`])
	assert.NotContains(t, m, `prony_call_seconds_count{api="grpc",method="Produce"}`, "a stream is not a call that is answered")
	require.NoError(t, work.CloseSend())
	_, err = work.Recv()
	require.Error(t, err)
}

// gathered returns what a collector collects, by name and labels.
func gathered(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key := f.GetName()
			for _, l := range m.GetLabel() {
				key += " " + l.GetValue()
			}
			out[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}

func TestQueueSeriesAreBounded(t *testing.T) {
	var stats []queue.Stats
	for i := range uint64(5) {
		stats = append(stats, queue.Stats{
			Tenant: "t", Name: fmt.Sprint(i), Ready: i, Delayed: 10 * i, Leased: 100 * i, Dead: 1000 * i, Enqueued: 10_000 * i, Completed: 3,
			Removed: 7, Bytes: 1 << i, ReadySinceMs: 60_000 - 1_000*int64(i),
		})
	}
	stats = append(stats, queue.Stats{Tenant: "t", Name: otherQueues, Ready: 9_999, ReadySinceMs: math.MaxInt64}) // a queue may have that name
	c := newQueueCollector(func() ([]queue.Stats, error) { return stats, nil }, func() int64 { return 60_500 }, true)
	all := gathered(t, c)
	assert.InDelta(t, 35, all["prony_removed_total"], 0)
	assert.InDelta(t, 31, all["prony_payload_bytes"], 0)
	assert.InDelta(t, 4.5, all["prony_oldest_ready_seconds"], 0)
	assert.InDelta(t, 0.5, all["prony_queue_oldest_ready_seconds 0 t"], 0)
	assert.Zero(t, all["prony_queue_oldest_ready_seconds _other t"], "it has no ready task")
	assert.InDelta(t, 6, all["prony_queues"], 0)
	assert.InDelta(t, 100_000, all["prony_enqueued_total"], 0)
	assert.InDelta(t, 15, all["prony_completed_total"], 0)
	for i := range 5 {
		assert.InDelta(t, 1000*i, all[fmt.Sprintf("prony_queue_tasks %d dead t", i)], 0)
	}
	assert.NotContains(t, all, "prony_queue_tasks _other ready ")

	c.seriesMax = 3
	few := gathered(t, c)
	assert.Less(t, len(few), len(all))
	for series, want := range map[string]float64{
		"prony_queue_tasks _other ready t": 9_999, "prony_queue_tasks 4 ready t": 4, "prony_queue_tasks 3 leased t": 300,
		"prony_queue_tasks _other ready ": 0 + 1 + 2, "prony_queue_tasks _other delayed ": 30, "prony_queue_tasks _other leased ": 300, "prony_queue_tasks _other dead ": 3_000,
		"prony_queue_enqueued_total _other ": 30_000, "prony_queue_completed_total _other ": 9,
		"prony_queue_removed_total _other ": 21, "prony_queue_payload_bytes _other ": 7, "prony_queue_oldest_ready_seconds _other ": 2.5,
		"prony_queues": 6, "prony_enqueued_total": 100_000, "prony_completed_total": 15,
	} {
		assert.InDelta(t, want, few[series], 0, series)
		assert.Contains(t, few, series)
	}
	assert.NotContains(t, few, "prony_queue_tasks 2 ready t")
	assert.Equal(t, 1_000, queueSeriesMax)
}

// Without tenants a scrape has no name of a tenant or a queue, and its sums are those of the series that have them.
func TestQueueSumsNameNobodyAndAreThoseOfTheQueues(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		type key struct{ tenant, queue string }
		keys := rapid.SliceOfNDistinct(rapid.Custom(func(r *rapid.T) key {
			return key{rapid.StringMatching(`tenant-[a-z]{1,2}`).Draw(r, "tenant"), rapid.StringMatching(`queue-[a-z]`).Draw(r, "queue")}
		}), 0, 20, rapid.ID[key]).Draw(r, "queues")
		small := rapid.Uint64Range(0, 1_000)
		const nowMs = 60_000
		stats := make([]queue.Stats, len(keys))
		for i, k := range keys {
			stats[i] = queue.Stats{
				Tenant: k.tenant, Name: k.queue, Ready: small.Draw(r, "ready"), Delayed: small.Draw(r, "delayed"), Leased: small.Draw(r, "leased"),
				Dead: small.Draw(r, "dead"), Enqueued: small.Draw(r, "enqueued"), Completed: small.Draw(r, "completed"), Removed: small.Draw(r, "removed"),
				Bytes: small.Draw(r, "bytes"), ReadySinceMs: rapid.Int64Range(0, nowMs).Draw(r, "ready since"),
			}
		}
		collector := func(tenants bool) *queueCollector {
			c := newQueueCollector(func() ([]queue.Stats, error) { return slices.Clone(stats), nil }, func() int64 { return nowMs }, tenants)
			c.seriesMax = rapid.IntRange(1, 25).Draw(r, "series")
			return c
		}
		sums, named := gathered(t, collector(false)), gathered(t, collector(true))
		want := map[string]float64{"prony_queues": float64(len(keys)), "prony_oldest_ready_seconds": 0}
		for _, name := range []string{"enqueued_total", "completed_total", "removed_total", "payload_bytes", "tasks ready", "tasks delayed", "tasks leased", "tasks dead"} {
			want["prony_"+name] = 0
		}
		for series, value := range named {
			rest, single := strings.CutPrefix(series, "prony_queue_")
			if !single {
				continue
			}
			parts := strings.Split(rest, " ") // the name, the queue, the state if there is one, the tenant
			switch sum := "prony_" + parts[0]; {
			case len(parts) == 4:
				want[sum+" "+parts[2]] += value
			case parts[0] == "oldest_ready_seconds":
				want[sum] = max(want[sum], value)
			default:
				want[sum] += value
			}
		}
		assert.Equal(r, want, sums)
		for series := range sums {
			assert.NotContains(r, series, "tenant-")
			assert.NotContains(r, series, "queue-")
		}
	})
}

func TestAScrapeOfAStoppedShardSaysSo(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newQueueCollector(func() ([]queue.Stats, error) { return nil, errors.New("the shard is stopping") }, nil, false))
	_, err := registry.Gather()
	require.ErrorContains(t, err, "the shard is stopping")
}

// What Pebble and the runtime say of themselves is shown, for each shard.
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
	for _, name := range []string{
		"go_gc_cycles_total_gc_cycles_total", "go_sched_pauses_total_gc_seconds_count", `go_sched_pauses_total_gc_seconds_bucket{le="+Inf"}`,
		"go_memstats_mallocs_total", "go_memstats_alloc_bytes_total", "go_goroutines",
	} {
		assert.Contains(t, m, name)
	}
}

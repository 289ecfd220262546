package run

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queuepb"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// readMetrics are the metrics of a run with reads.
var readMetrics = []string{
	result.ReadsPerS, result.ReadLatencyMs + "_p50", result.ReadLatencyMs + "_p99", result.ReadFoundRatio, result.ReadsDropped, result.ReadMismatches,
}

// Whole runs of a real server whose load reads, by each driver that supports reads.
func TestReads(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stream", "unary", "rest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small()
			w := &s.Workloads[0]
			w.Driver, w.Tenants, w.Batch, w.Reads, w.InFlight = name, 2, 1, scenario.Reads{Get: 0.5}, 1000
			e := execute(t, s, real(t))
			r := e.result
			require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
			round := r.Rounds[0]
			require.NotNil(t, round.Reads)
			assert.NotZero(t, round.Reads.Answered)
			assert.Zero(t, round.Reads.Wrong)
			assert.GreaterOrEqual(t, round.Ledger.Reads, round.Reads.Answered)
			assert.Zero(t, round.Ledger.Misread)
			for _, metric := range readMetrics {
				require.Contains(t, r.Metrics, metric)
			}
			assert.InDelta(t, float64(round.Reads.Answered)/round.WindowSeconds, r.Metrics[result.ReadsPerS].Median, 1e-6)
			assert.EqualValues(t, round.Reads.Answered, r.Metrics[result.ReadLatencyMs+"_n"].Median)
			stored, histograms, err := result.Read(e.folder)
			require.NoError(t, err)
			assert.Equal(t, round.Reads, stored.Rounds[0].Reads)
			assert.EqualValues(t, round.Reads.Answered, histograms[0].Read.TotalCount())
			assert.Contains(t, e.shown.String(), "\n  read_mismatches")
		})
	}
}

// A wait for the end of a task returns the result of its completion, or the death of a task that
// workers failed.
func TestAwaitsOfTasksWithResultsAndFailures(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stream", "rest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small()
			w := &s.Workloads[0]
			w.Driver, w.Tenants, w.Batch, w.InFlight, w.Reads = name, 2, 1, 100, scenario.Reads{Await: 0.3}
			w.Result, w.Fail, w.MaxAttempts, w.Backoff = scenario.Results{Size: 64, Part: 0.5}, 0.3, 2, 5*time.Millisecond
			r := execute(t, s, real(t)).result
			require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
			round := r.Rounds[0]
			assert.NotZero(t, round.OtherReads[scenario.ReadAwait].Found)
			assert.NotZero(t, round.Ledger.Dead)
			assert.NotZero(t, round.Ledger.Results)
			assert.Zero(t, round.Ledger.Misread, "%v", round.Ledger.Samples)
		})
	}
}

// In a scenario with several workloads each has separate read figures, and a workload without reads
// has none.
func TestReadsOfSeveralWorkloads(t *testing.T) {
	t.Parallel()
	s := small()
	s.Workloads[0].Reads = scenario.Reads{Get: 0.5}
	other := s.Workloads[0]
	other.Name, other.FirstTenant, other.Reads = "other", 1, scenario.Reads{}
	forTime(s, window)
	s.Workloads = append(s.Workloads, other)
	r := execute(t, s, real(t)).result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	require.Len(t, r.Workloads, 2)
	assert.Equal(t, r.Metrics[result.ReadsPerS], r.Workloads[0].Metrics[result.ReadsPerS])
	assert.Contains(t, r.Workloads[0].Metrics, result.ReadLatencyMs+"_p99")
	assert.NotContains(t, r.Workloads[1].Metrics, result.ReadsPerS)
	assert.NotContains(t, r.Workloads[1].Metrics, result.ReadLatencyMs+"_n")
	assert.Equal(t, r.Rounds[0].Reads, r.Rounds[0].Workloads[0].Reads)
	assert.Nil(t, r.Rounds[0].Workloads[1].Reads)
}

// The balance of all workloads includes the reads of each.
func TestTheBalanceHasTheReadsOfEachWorkload(t *testing.T) {
	t.Parallel()
	w := small().Workloads[0]
	accounts := []*ledger.Ledger{load.NewLedger(1, w), load.NewLedger(2, w)}
	for i, a := range accounts {
		a.Read()
		a.Misread(ledger.Asked{ID: strconv.Itoa(i)}, "was not")
	}
	balance := inProcess{&loads{accounts: accounts, workloads: []scenario.Workload{w, w}}}.balance()
	assert.Equal(t, []uint64{4, 2}, []uint64{balance.Reads, balance.Misread})
	assert.Len(t, balance.Samples, 2)
}

// A server that answers reads with wrong data makes the run incorrect. The reason names the tenant,
// the task and the difference.
func TestMisreadsAreIncorrect(t *testing.T) {
	t.Parallel()
	s := small()
	s.Workloads[0].Reads = scenario.Reads{Get: 0.5}
	r := execute(t, s, acting(t, faultMisreads)).result
	assert.Equal(t, result.Incorrect, r.Verdict)
	require.NotEmpty(t, r.Reasons)
	assert.Regexp(t, `^round 1: not read back: \d+ of \d+ reads returned wrong data, another tenant's task, or `+
		`no task although it existed; the first: misread: tenant t0 asked for task \d+ \(producer \d task \d+, sent to t0/q0\): the `+
		`answer's payload has 64 bytes that do not match their checksum`, r.Reasons[0])
	assert.Positive(t, r.Metrics[result.ReadMismatches].Median)
	assert.Contains(t, result.Published(r), result.ReadMismatches, "the metric of the mismatches is published")
}

// A reader uses a token of its tenant: it can read the tasks of this tenant only.
func TestReadersShowTheTokenOfTheirTenant(t *testing.T) {
	t.Parallel()
	for _, of := range []scenario.Topology{
		{Kind: "single", Shards: 1, Durability: "none", Listen: "tcp"},
		{Kind: scenario.Raft, Nodes: 3, Shards: 2, Durability: "none", Listen: "tcp", Settings: calm},
		{Kind: "single", Shards: 1, Durability: "none", Listen: "tcp", TLS: true},
	} {
		t.Run(of.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cluster, err := topology.Start(t.Context(), topology.Config{Binary: queued, Dir: dir, LogPath: filepath.Join(dir, "server.log"), Topology: of})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
			for _, name := range []string{"stream", "unary", "rest"} {
				readTenants(t, cluster, scenario.Workload{
					Driver: name, Connections: 1, Tenants: 2, FirstTenant: 3, Reads: scenario.Reads{Get: 0.3, List: 0.3}, Lease: time.Minute,
				})
			}
		})
	}
}

// readTenants enqueues a task for each tenant of a workload and reads them.
func readTenants(t *testing.T, cluster *topology.Cluster, w scenario.Workload) {
	t.Helper()
	conns, err := dial(t.Context(), cluster, nil, w)
	require.NoError(t, err)
	readers, err := openReaders(t.Context(), cluster, w)
	require.NoError(t, err)
	defer func() {
		require.NoError(t, closeReaders(readers))
		require.NoError(t, conns[0].Close())
	}()
	require.True(t, readers.Confined)
	require.Len(t, readers.Of, 2)
	tenants, ids := []string{"t3", "t4"}, []string{}
	for _, tenant := range tenants {
		p, err := conns[0].Producer(t.Context(), tenant)
		require.NoError(t, err)
		tasks := []driver.Task{{Tenant: tenant, Queue: "q0", Payload: []byte("of " + tenant)}, {Tenant: tenant, Queue: "q1", Payload: []byte("another")}}
		require.NoError(t, p.Enqueue(t.Context(), tasks, make([]error, 2)))
		require.NotEqual(t, tasks[0].ID, tasks[1].ID)
		ids = append(ids, tasks[0].ID)
	}
	for i, reader := range readers.Of {
		found, err := reader.Read(t.Context(), tenants[i], ids[i])
		require.NoError(t, err, w.Driver)
		assert.Equal(t, driver.Found{ID: ids[i], Tenant: tenants[i], Queue: "q0", Payload: []byte("of " + tenants[i])}, found)
		_, err = reader.Read(t.Context(), tenants[i], ids[1-i])
		require.ErrorIs(t, err, driver.ErrNotFound, w.Driver)
		_, err = reader.Read(t.Context(), tenants[1-i], ids[1-i])
		require.ErrorIs(t, err, driver.ErrDenied, w.Driver)
		awaited, err := reader.Await(t.Context(), tenants[i], ids[i], time.Millisecond)
		require.NoError(t, err, w.Driver)
		assert.Equal(t, driver.Open, awaited.State)
		_, err = reader.Await(t.Context(), tenants[i], ids[1-i], time.Minute)
		require.ErrorIs(t, err, driver.ErrNotFound, w.Driver)
		_, err = reader.Await(t.Context(), tenants[1-i], ids[1-i], time.Minute)
		require.ErrorIs(t, err, driver.ErrDenied, w.Driver)
	}
	require.Len(t, readers.Queues, 2)
	for i, reader := range readers.Queues {
		listed, err := reader.List(t.Context(), tenants[i], "q0", false)
		require.NoError(t, err, w.Driver)
		require.NotEmpty(t, listed)
		assert.Equal(t, driver.Found{ID: listed[0].ID, Tenant: tenants[i], Queue: "q0", Payload: []byte("of " + tenants[i])}, listed[0])
		listed, err = reader.List(t.Context(), tenants[i], "q0", true)
		require.NoError(t, err, w.Driver)
		assert.Empty(t, listed, "no task is leased")
		stats, err := reader.Stats(t.Context(), tenants[i], "q0")
		require.NoError(t, err, w.Driver)
		assert.NotZero(t, stats.Enqueued)
		assert.Equal(t, driver.QueueStats{Tenant: tenants[i], Queue: "q0", Enqueued: stats.Enqueued}, stats)
		_, err = reader.List(t.Context(), tenants[1-i], "q0", false)
		require.ErrorIs(t, err, driver.ErrDenied, w.Driver)
		_, err = reader.Stats(t.Context(), tenants[1-i], "q0")
		require.ErrorIs(t, err, driver.ErrDenied, w.Driver)
	}
}

// behind is a server of a cluster that learns a token late.
type behind struct {
	queuepb.UnimplementedQueueServiceServer
	reads atomic.Int32
	then  error // the answer to the third read
}

func (b *behind) GetTask(context.Context, *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
	if b.reads.Add(1) < 3 {
		return nil, status.Error(codes.Unauthenticated, "the access token is not valid")
	}
	return &queuepb.GetTaskResponse{}, b.then
}

func TestReadersWaitUntilAllServersKnowTheirTokens(t *testing.T) {
	t.Parallel()
	for says, then := range map[string]error{
		"": status.Error(codes.NotFound, "no such task"), "broken": status.Error(codes.Internal, "broken"), "got an answer": nil,
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		b, server := &behind{then: then}, grpc.NewServer()
		queuepb.RegisterQueueServiceServer(server, b)
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		err = waitForToken(t.Context(), driver.Target{Address: listener.Addr().String()}, "", adminpb.Scope_SCOPE_PRODUCE, "t0")
		if says == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, says)
		}
		assert.EqualValues(t, 3, b.reads.Load())

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.Error(t, waitForToken(ctx, driver.Target{Address: listener.Addr().String()}, "", adminpb.Scope_SCOPE_PRODUCE, "t0"), "the wait ends with its context")
		server.Stop()
		require.NoError(t, <-served)
	}
}

// Whole runs of a real server whose load reads in each way, by each driver that supports it.
func TestReadsByKind(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stream", "unary", "rest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small()
			w := &s.Workloads[0]
			w.Driver, w.Tenants, w.Batch, w.InFlight = name, 2, 1, 1000
			w.Reads = scenario.Reads{List: 0.1, Stats: 0.1, Await: 0.2}
			e := execute(t, s, real(t))
			// Each reader's eighth read is for another tenant's task. On a busy machine the window
			// may end before it.
			for s.Phases.Tasks < 100*windowTasks && !readForeign(e.result, w.Reads) {
				s.Phases.Tasks *= 4
				e = execute(t, s, real(t))
			}
			r := e.result
			require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
			round := r.Rounds[0]
			assert.Nil(t, round.Reads, "there are no gets")
			for _, kind := range w.Reads.Kinds() {
				reads := round.OtherReads[kind]
				assert.NotZero(t, reads.Answered, kind)
				assert.NotZero(t, reads.Found, kind)
				assert.NotZero(t, reads.Foreign, kind)
				assert.Zero(t, reads.Mismatches, kind)
			}
			assert.NotZero(t, round.OtherReads[scenario.ReadList].Tasks)
			assert.Zero(t, round.Ledger.Misread)
			for _, metric := range []string{
				result.ListsPerS, result.ListLatencyMs + "_p99", result.StatsPerS, result.StatsLatencyMs + "_p99", result.AwaitsPerS,
				result.AwaitLatencyMs + "_p50", result.AwaitEndedRatio, result.ReadMismatches,
			} {
				require.Contains(t, r.Metrics, metric)
			}
			stored, histograms, err := result.Read(e.folder)
			require.NoError(t, err)
			assert.Equal(t, round.OtherReads, stored.Rounds[0].OtherReads)
			assert.EqualValues(t, round.OtherReads[scenario.ReadAwait].Answered, histograms[0].Await.TotalCount())
			assert.Equal(t, w.Reads, stored.Manifest.Scenario.Workloads[0].Reads)
		})
	}
}

// readForeign reports whether reads of each kind asked for another tenant's task or queue in the
// first round.
func readForeign(r *result.Result, reads scenario.Reads) bool {
	return !slices.ContainsFunc(reads.Kinds(), func(kind string) bool { return r.Rounds[0].OtherReads[kind].Foreign == 0 })
}

// A server that lets a tenant read another tenant's queue, or ends waits too early, makes the run
// incorrect.
func TestPlantedMisreadsByKind(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	planted, err := buildtest.Program("queued-planted", "engine/cmd/queued", "-tags", "planted")
	require.NoError(t, err)
	for fault, c := range map[string]struct {
		reads scenario.Reads
		says  string
	}{
		"list":  {scenario.Reads{List: 0.3}, "cross-tenant read: got the tasks of a queue"},
		"stats": {scenario.Reads{Stats: 0.3}, "cross-tenant read: got the figures of a queue"},
		"await": {scenario.Reads{Await: 0.3}, "expected an open task, whose completion was not requested, got done"},
		"read":  {scenario.Reads{Await: 0.3}, "cross-tenant read: got the end of a task"},
	} {
		t.Run(fault, func(t *testing.T) {
			s := small()
			w := &s.Workloads[0]
			w.Tenants, w.Batch, w.Workers, w.InFlight, w.Reads = 2, 1, 2, 1000, c.reads
			r := execute(t, s, script(t, fmt.Sprintf(`exec env PRONY_PLANTED=%s '%s' "$@"`, fault, planted))).result
			assert.Equal(t, result.Incorrect, r.Verdict)
			require.NotEmpty(t, r.Reasons)
			assert.Contains(t, r.Reasons[0], "not read back: ")
			assert.Contains(t, r.Reasons[0], c.says)
			assert.NotZero(t, r.Rounds[0].OtherReads[c.reads.Kinds()[0]].Mismatches)
		})
	}
}

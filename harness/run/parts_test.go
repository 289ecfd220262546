package run

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// The tests of this file run optional parts of scenarios.

func TestSweep(t *testing.T) {
	t.Parallel()
	s := small()
	s.Rounds = 2
	s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}
	s.Sweeps = []scenario.Sweep{{Path: "workload.main.batch", Values: []string{"1", "64"}}}
	for _, batch := range []int{1, 64} {
		p := scenario.Point{Name: fmt.Sprintf("batch=%d", batch), Topology: s.Topology, Workloads: slices.Clone(s.Workloads)}
		p.Values = []scenario.Value{{Path: "workload.main.batch", Text: fmt.Sprint(batch)}}
		p.Workloads[0].Batch = batch
		s.Points = append(s.Points, p)
	}
	on := real(t)
	e := execute(t, s, on)
	r := e.result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	assert.Len(t, on.started(t), 6)
	var points []int
	for _, round := range r.Rounds {
		points = append(points, round.Point)
	}
	assert.Equal(t, []int{1, 2, 1, 2, 1, 2}, points)
	require.Len(t, r.Points, 2)
	for i, p := range r.Points {
		assert.Equal(t, i+1, p.Number)
		assert.Equal(t, s.Points[i].Name, p.Name)
		assert.Equal(t, []result.Value{{Path: "workload.main.batch", Key: "batch", Text: s.Points[i].Values[0].Text}}, p.Values)
		assert.Equal(t, 2, p.Metrics[result.CyclesPerS].N)
		assert.Equal(t, 3, p.Metrics[result.Lost].N, "the profiled round's ledger counts")
	}
	assert.NotContains(t, r.Metrics, result.CyclesPerS)
	assert.InDelta(t, 1, r.Points[0].Metrics[result.RateCost].Median, 0)
	assert.Positive(t, r.Points[1].Metrics[result.RateCost].Median)
	assert.Equal(t, 2, r.Points[1].Metrics[result.RateCost].N)
	assert.Contains(t, e.shown.String(), "\n  point     cycles/s ")
	assert.Equal(t, 6, r.Metrics[result.Lost].N)
	require.Len(t, r.Profiles, 4, "of the server and the generator at each point")
	for i, p := range r.Profiles {
		assert.Equal(t, i/2+1, p.Point)
		assert.Equal(t, filepath.ToSlash(filepath.Join("profiles", fmt.Sprintf("point-%d", i/2+1), p.Node, "mutex.pb.gz")), p.File)
		assert.FileExists(t, filepath.Join(e.folder, p.File))
	}
	assert.Contains(t, e.shown.String(), "small: durability none, 2 points of 2 rounds and a profiled one of")
	assert.Contains(t, e.shown.String(), "  round 2 of 6, batch=64: ")
	assert.Contains(t, e.shown.String(), "small: pass, durability none\n")
	bench, err := os.ReadFile(filepath.Join(e.folder, result.BenchFile))
	require.NoError(t, err)
	assert.Contains(t, string(bench), "BenchmarkSmall/durability=none/batch=64 ")
}

func TestOpenLoadAtAPartOfThePeak(t *testing.T) {
	t.Parallel()
	s := small()
	forTime(s, window)
	s.Workloads[0].Batch = 1
	s.Workloads[0].Arrivals, s.Workloads[0].InFlight = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{OfPeak: 0.1}}, 100_000
	e := execute(t, s, real(t))
	r := e.result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	require.Len(t, r.Rounds, 2)
	peak, round := r.Rounds[0], r.Rounds[1]
	assert.True(t, peak.Calibration)
	assert.Nil(t, peak.Arrivals)
	a := round.Arrivals
	require.NotNil(t, a)
	assert.InDelta(t, peak.Metrics[result.CyclesPerS], a.PeakPerSecond, 0)
	assert.InDelta(t, 0.1*a.PeakPerSecond, a.PerSecond, 1e-6)
	assert.InDelta(t, s.Phases.Window.Seconds()*a.PerSecond, float64(a.Scheduled), 1)
	assert.Equal(t, a.Scheduled, a.Finished+a.Unfinished+a.Unsent+a.Dropped+a.Refused)
	assert.InDelta(t, a.PerSecond, r.Metrics[result.OfferedPerS].Median, 1e-6)
	assert.Equal(t, 1, r.Metrics[result.CyclesPerS].N, "the round that found the peak is not timed")
	assert.Equal(t, 2, r.Metrics[result.Lost].N)
	assert.Positive(t, r.Metrics[result.SlipMs+"_p99"].Median)
	_, histograms, err := result.Read(e.folder)
	require.NoError(t, err)
	assert.EqualValues(t, a.Scheduled, histograms[1].Cycle.TotalCount())
	assert.Contains(t, e.shown.String(), "  round 1 of 2 (to find the peak): ")
	assert.Contains(t, e.shown.String(), "; offered ")
}

// A generator that is late through its own fault makes the round invalid, whatever the server did.
func TestGeneratorThatDoesNotKeepUp(t *testing.T) {
	t.Parallel()
	s := small()
	forTime(s, window)
	s.Workloads[0].Arrivals, s.Workloads[0].InFlight = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{PerSecond: 200}}, 1000
	on := acting(t, faultNone)
	s.Validity.SlipMsP99Max = new(1e-6) // one nanosecond
	r, folder, err := Execute(t.Context(), s, Options{Out: t.TempDir(), Server: on.path})
	require.NoError(t, err)
	assert.Equal(t, result.Invalid, r.Verdict)
	require.NotEmpty(t, r.Reasons)
	assert.Contains(t, r.Reasons[0], "round 1: the generator did not keep up with its schedule")
	assert.FileExists(t, filepath.Join(folder, result.ResultFile))
}

func TestIdleServer(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{0, 3} {
		s := small()
		forTime(s, window)
		s.Workloads[0].Arrivals, s.Workloads[0].Producers, s.Workloads[0].Workers = scenario.Arrivals{Kind: scenario.None}, 0, workers
		e := execute(t, s, real(t))
		r := e.result
		require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
		assert.Positive(t, r.Metrics[result.ServerCPUCores].Median)
		assert.Positive(t, r.Metrics[result.ServerRSSMBMax].Median)
		for _, name := range []string{result.CyclesPerS, result.CPUUsPerCycle, result.StorageSetsPerCycle, result.CycleLatencyMs + "_p99"} {
			assert.NotContains(t, r.Metrics, name)
		}
		assert.Contains(t, e.shown.String(), "round 1 of 1: no load, server 0.")
	}
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	for _, restart := range []string{"none", "term", "kill"} {
		t.Run(restart, func(t *testing.T) {
			t.Parallel()
			s := small()
			s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}
			s.Backlog = &scenario.Backlog{Tasks: 3000, Restart: restart, Fill: patience, Drain: patience}
			if restart == "none" {
				s.Backlog.Reference = 300
			}
			on := real(t)
			e := execute(t, s, on)
			r := e.result
			require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
			starts := 2 // the timed round and the profiled one
			if restart != "none" {
				starts++
			}
			assert.Len(t, on.started(t), starts)
			b := r.Rounds[0].Backlog
			require.NotNil(t, b)
			assert.Nil(t, r.Rounds[1].Backlog, "a profiled round has no backlog")
			assert.EqualValues(t, 3000, b.Tasks)
			assert.EqualValues(t, 3000, b.Cycles)
			assert.Equal(t, restart != "none", b.FirstClaimS > 0)
			l := r.Rounds[0].Ledger
			assert.Equal(t, l.Enqueued, l.Completed)
			assert.Greater(t, l.Completed, uint64(3000), "one account for all parts of the round")
			for _, name := range []string{result.FillTasksPerS, result.DrainCyclesPerS, result.DrainRatio, result.BacklogRSSMBMax} {
				assert.Positive(t, r.Metrics[name].Median, name)
			}
			small, found := r.Metrics[result.DrainSmallRatio]
			assert.Equal(t, restart == "none", found)
			assert.Equal(t, restart == "none", small.Median > 0)
			_, found = r.Metrics[result.RestartFirstClaimS]
			assert.Equal(t, restart != "none", found)
			assert.GreaterOrEqual(t, r.Metrics[result.ServerRSSMBMax].Median, r.Metrics[result.BacklogRSSMBMax].Median)
			assert.Contains(t, e.shown.String(), "; backlog of 3,000 drained at ")
		})
	}
}

// A restart on a cold page cache records how much of the servers' files remained in it. A file
// system in memory keeps all of them, which makes the round invalid.
func TestBacklogOnAColdPageCache(t *testing.T) {
	t.Parallel()
	s := small()
	s.Backlog = &scenario.Backlog{Tasks: 3000, Restart: "kill", ColdCache: true, Fill: patience, Drain: patience}
	r := execute(t, s, real(t)).result
	b := r.Rounds[0].Backlog
	require.NotNil(t, b, "%v", r.Reasons)
	require.NotNil(t, b.ColdCache)
	assert.Positive(t, b.ColdCache.DataMB)
	assert.EqualValues(t, 3000, b.Cycles)
	assert.Positive(t, b.FirstClaimS)
	if b.ColdCache.LeftMB > 0.01*b.ColdCache.DataMB {
		assert.Equal(t, result.Invalid, r.Verdict)
		assert.Contains(t, r.Rounds[0].Reasons[0], "the kernel kept")
		return
	}
	assert.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
}

func TestBacklogThatFails(t *testing.T) {
	t.Parallel()
	backlog := func(restart string) *scenario.Scenario {
		s := small()
		s.Rounds = 2
		s.Backlog = &scenario.Backlog{Tasks: 1000, Restart: restart, Fill: patience, Drain: patience}
		return s
	}
	t.Run("the server refuses a task of it", func(t *testing.T) {
		t.Parallel()
		e := execute(t, backlog("none"), acting(t, faultFull))
		assert.Equal(t, result.Invalid, e.result.Verdict)
		assert.Contains(t, e.reasons(), "the server refused a task of the backlog: the queue is full")
		assert.NotContains(t, e.reasons(), "does not balance", "tasks in flight are not lost")
		assert.Len(t, e.result.Rounds, 1)
	})
	t.Run("the server does not start again", func(t *testing.T) {
		t.Parallel()
		on := script(t, `[ "$(wc -l <"$(dirname "$0")/pids")" -lt 2 ] || { echo 'the log is damaged' >&2; exit 1; }`,
			fmt.Sprintf(`exec '%s' "$@"`, queued))
		e := execute(t, backlog("kill"), on)
		assert.Equal(t, result.Incorrect, e.result.Verdict)
		assert.Contains(t, e.reasons(), "restart topology: the server ended before it was ready")
		assert.Contains(t, e.reasons(), "the log is damaged")
		assert.Len(t, e.result.Rounds, 1)
	})
	t.Run("the server forgets the backlog", func(t *testing.T) {
		t.Parallel()
		s := backlog("kill")
		s.Backlog.Drain = time.Second
		e := execute(t, s, acting(t, faultNone)) // it stores tasks only in memory
		assert.Equal(t, result.Invalid, e.result.Verdict)
		assert.Contains(t, e.reasons(), "no task of the backlog was claimed and completed")
	})
}

// requireSeries checks that a run with a series passed. If the host paused for the whole second
// tenth of the short window, there is no steady rate, and the run is invalid for this reason alone.
func requireSeries(t *testing.T, r *result.Result) {
	t.Helper()
	if _, err := result.SteadyRatio(r.Rounds[0].Series); err != nil {
		require.Equal(t, []string{result.SteadyRateRatio + ": round 1 has no value"}, r.Reasons)
		return
	}
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	require.Contains(t, r.Metrics, result.SteadyRateRatio)
}

func TestSeries(t *testing.T) {
	t.Parallel()
	s := small()
	s.SeriesEvery = 50 * time.Millisecond
	forTime(s, time.Second)
	s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}
	e := execute(t, s, real(t))
	r := e.result
	requireSeries(t, r)
	series := r.Rounds[0].Series
	require.Len(t, series, 20)
	assert.Empty(t, r.Rounds[1].Series, "a profiled round has no series")
	cycles, last := 0.0, 0.0
	for _, sample := range series {
		assert.Greater(t, sample.AtS, last)
		cycles += sample.CyclesPerS
		last = sample.AtS
		assert.Positive(t, sample.ServerRSSMB)
		assert.Positive(t, sample.DiskMB)
	}
	assert.GreaterOrEqual(t, last, 1.0)
	assert.Positive(t, cycles)
	for _, name := range []string{result.DiskMBMax, result.DiskMBEnd} {
		assert.Positive(t, r.Metrics[name].Median, name)
	}
	assert.GreaterOrEqual(t, r.Metrics[result.DiskMBMax].Median, r.Metrics[result.DiskMBEnd].Median)
}

// A sample has the rate since the previous sample, or since the start of the window.
func TestRatesOfASeries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		counted := func() count {
			since := time.Since(began)
			return count{at: time.Now(), completed: uint64(since.Milliseconds() * since.Milliseconds())}
		}
		s := &series{every: 100 * time.Millisecond, n: 3, cluster: &topology.Cluster{}, counted: counted}
		require.NoError(t, s.start(t.Context(), began))
		require.NoError(t, s.stop(t.Context()))
		assert.Equal(t, []result.Sample{{AtS: 0.1, CyclesPerS: 100_000}, {AtS: 0.2, CyclesPerS: 300_000}, {AtS: 0.3, CyclesPerS: 500_000}}, s.samples)
	})
}

// The same load through unary calls, over gRPC and REST, with the token that the server requires.
func TestPlainCalls(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"unary", "rest"} {
		for _, batch := range []int{1, 64} {
			t.Run(fmt.Sprintf("%s batch=%d", driver, batch), func(t *testing.T) {
				t.Parallel()
				s := small()
				s.Workloads[0].Driver, s.Workloads[0].Batch = driver, batch
				s.Workloads[0].Tenants, s.Workloads[0].Queues, s.Workloads[0].Connections = 2, 2, 2
				e := execute(t, s, real(t))
				r := e.result
				require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
				assert.Positive(t, r.Rounds[0].Cycles)
				require.NotNil(t, r.Rounds[0].TenantShares, "two tenants send the same load")
				assert.Equal(t, 2, r.Rounds[0].TenantShares.Tenants)
				assert.InDelta(t, 0.75, r.Metrics[result.TenantFairness].Median, 0.25)
				assert.Contains(t, r.Metrics, result.TenantCyclesMinRatio)
				sets := r.Metrics[result.StorageSetsPerCycle].Median
				assert.Positive(t, sets, "the server counts its store operations")
				assert.Less(t, sets, 100.0)
			})
		}
	}
}

func TestShardedTopology(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"stream", "unary"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			s := small()
			s.Topology.Kind, s.Topology.Shards = "sharded", 4
			s.Workloads[0].Driver, s.Workloads[0].Queues = driver, 3
			r := execute(t, s, real(t)).result
			require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
			assert.Positive(t, r.Rounds[0].Cycles)
		})
	}
}

func TestDriverThatTheServerHasNoPlaceFor(t *testing.T) {
	t.Parallel()
	texts := golden.Cases(t, "testdata/drivers.golden")
	for _, driver := range []string{"rest", "pigeon"} {
		s := small()
		s.Workloads[0].Driver = driver
		e := execute(t, s, acting(t, faultNone))
		assert.Equal(t, result.Invalid, e.result.Verdict)
		texts.Equal(t, driver, e.reasons())
	}
}

// All requests to a server that requires an access token carry the token that it wrote.
func TestServerThatWantsAToken(t *testing.T) {
	t.Parallel()
	s := small()
	s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}
	e := execute(t, s, acting(t, faultToken))
	assert.Equal(t, result.Pass, e.result.Verdict, e.reasons())
	assert.Positive(t, e.result.Rounds[0].Cycles)
	assert.Len(t, e.result.Profiles, 2)
}

// The servers' store operations are divided by the completed tasks, by the servers' own count if
// available.
func TestStorageOperationsPerCycle(t *testing.T) {
	t.Parallel()
	server := &serverProbe{
		countersBefore: map[string]float64{"prony_storage_sets_total": 100, "prony_storage_gets_total": 7, completedCounter: 10},
		countersAfter:  map[string]float64{"prony_storage_sets_total": 520, "prony_storage_gets_total": 7, completedCounter: 210},
	}
	w := &counters{servers: []*serverProbe{server}}
	m := &measured{round: result.Round{Cycles: 150, Metrics: map[string]float64{}}}
	w.storage(m)
	assert.Equal(t, map[string]float64{result.StorageSetsPerCycle: 2.1, result.StorageGetsPerCycle: 0}, m.round.Metrics)

	for _, counters := range []map[string]float64{server.countersBefore, server.countersAfter} {
		delete(counters, completedCounter)
	}
	w.storage(m)
	assert.InDelta(t, 2.8, m.round.Metrics[result.StorageSetsPerCycle], 1e-9)

	m = &measured{round: result.Round{Cycles: 150, Metrics: map[string]float64{}}}
	(&counters{}).storage(m)
	assert.Empty(t, m.round.Metrics, "a server that does not count has no figures")
	m.round.Cycles = 0
	w.storage(m)
	assert.Empty(t, m.round.Metrics, "a server that completed no task has no figures")
}

func TestPartsOfAScenario(t *testing.T) {
	t.Parallel()
	s := small()
	s.Backlog, s.SeriesEvery = &scenario.Backlog{Restart: "kill"}, time.Second
	r := &runner{scenario: s}
	parts := r.parts(s.Plan()[0])
	slices.Sort(parts)
	assert.Equal(t, []result.Part{result.OfBacklog, result.OfLoad, result.OfRestart, result.OfSeries}, parts)
	s.Backlog, s.SeriesEvery = nil, 0
	s.Workloads[0].Arrivals.Kind = scenario.None
	assert.Empty(t, r.parts(s.Plan()[0]))
	s.Workloads[0].Arrivals.Kind = scenario.Open
	assert.Equal(t, []result.Part{result.OfLoad, result.OfOpen}, r.parts(s.Plan()[0]))
	s.Workloads[0].Arrivals.Kind, s.Topology.Kind = scenario.Closed, scenario.Raft
	assert.Equal(t, []result.Part{result.OfLoad, result.OfRaft}, r.parts(s.Plan()[0]))
	s.Faults = []scenario.Fault{{Kind: scenario.FaultKill}}
	assert.Equal(t, []result.Part{result.OfLoad, result.OfFaults}, r.parts(s.Plan()[0]), "the counters of an ended process are lost")
}

// Each point is compared with the point that has the first value of the first sweep and equal other
// values.
func TestRateCostsOfCrossedSweeps(t *testing.T) {
	t.Parallel()
	s := small()
	s.Sweeps = []scenario.Sweep{{Values: []string{"a", "b", "c"}}, {Values: []string{"x", "y"}}}
	r := &runner{scenario: s}
	for point, rate := range []float64{100, 10, 50, 2, 25, 1} {
		r.points = append(r.points, scenario.Point{Workloads: slices.Clone(s.Workloads)})
		r.result.Rounds = append(r.result.Rounds, result.Round{Point: point + 1, Metrics: map[string]float64{result.CyclesPerS: rate}})
	}
	costs, err := r.rateCosts()
	require.NoError(t, err)
	for i, want := range []float64{1, 1, 2, 5, 4, 10} {
		assert.InDelta(t, want, costs[i+1].Median, 1e-9, "point %d", i+1)
	}
	r.points[3].Workloads[0].Arrivals.Kind = scenario.Open
	costs, err = r.rateCosts()
	require.NoError(t, err)
	assert.Empty(t, costs, "an offered rate is not a cost")
}

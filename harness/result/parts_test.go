package result_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

func TestDeriveOpenLoad(t *testing.T) {
	h := result.NewHistograms()
	h.Slip, h.Service = result.NewHistogram(), result.NewHistogram()
	require.NoError(t, h.Slip.RecordValue(3_000_000))
	require.NoError(t, h.Service.RecordValue(2_000_000))
	r := result.Round{Arrivals: &result.Arrivals{PerSecond: 500, Scheduled: 15, Finished: 1, Unfinished: 2, Unsent: 3, Dropped: 4, Refused: 5, Held: 6}}
	r.Derive(h)
	assert.Equal(t, []float64{500, 2, 3, 4, 6}, []float64{
		r.Metrics["offered_per_s"], r.Metrics["unfinished"], r.Metrics["unsent"], r.Metrics["dropped"], r.Metrics["held"],
	})
	assert.InEpsilon(t, 3, r.Metrics["slip_ms_p99"], 0.01)
	assert.InEpsilon(t, 2, r.Metrics["enqueue_service_ms_p50"], 0.01)
}

func TestDeriveBacklog(t *testing.T) {
	r := result.Round{
		WindowSeconds: 10, Cycles: 1000, Metrics: map[string]float64{"server_rss_mb_max": 150},
		Backlog: &result.Backlog{Tasks: 600, FillS: 3, Restart: "kill", FirstClaimS: 0.5, DrainS: 8, Cycles: 600, ReferenceTasks: 50, ReferenceDrainS: 0.5, RSSMBFillMax: 300, RSSMBDrainMax: 200},
	}
	r.Derive(result.Histograms{})
	for name, want := range map[string]float64{
		"cycles_per_s": 100, "fill_tasks_per_s": 200, "drain_cycles_per_s": 75, "drain_ratio": 0.75, "drain_small_ratio": 0.75,
		"restart_first_claim_s": 0.5, "backlog_rss_mb_max": 300, "server_rss_mb_max": 300,
	} {
		assert.InDelta(t, want, r.Metrics[name], 1e-9, name)
	}

	r = result.Round{Backlog: &result.Backlog{Tasks: 600, Restart: "none", FirstClaimS: 0.5, RSSMBFillMax: 1}}
	r.Derive(result.Histograms{})
	for _, name := range []string{"fill_tasks_per_s", "drain_cycles_per_s", "drain_ratio", "restart_first_claim_s"} {
		assert.NotContains(t, r.Metrics, name, "figures that were not measured must be missing")
	}
}

func TestDeriveSeries(t *testing.T) {
	var r result.Round
	for i := range 20 {
		s := result.Sample{AtS: float64(i+1) * 5, CyclesPerS: 100, DiskMB: 10}
		if i >= 18 { // the last tenth
			s.CyclesPerS = 60
		}
		if i == 3 { // in the second tenth
			s.CyclesPerS, s.DiskMB = 50, 30
		}
		r.Series = append(r.Series, s)
	}
	r.Derive(result.Histograms{})
	assert.InDelta(t, 60.0/75, r.Metrics["steady_rate_ratio"], 1e-9)
	assert.InDelta(t, 30, r.Metrics["disk_mb_max"], 0)
	assert.InDelta(t, 10, r.Metrics["disk_mb_end"], 0)

	r = result.Round{Series: r.Series[:19]}
	r.Derive(result.Histograms{})
	assert.NotContains(t, r.Metrics, "steady_rate_ratio")
	for _, series := range [][]result.Sample{nil, make([]result.Sample, 10)} {
		_, err := result.SteadyRatio(series)
		require.Error(t, err)
	}
}

// Intervals that a busy host lengthened or shortened count by their length.
func TestSteadyRatioWeighsIntervals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := 0.0
		var series []result.Sample
		var cycles []float64
		for range 10 * rapid.IntRange(1, 4).Draw(t, "in each tenth") {
			length := rapid.Float64Range(0.5, 2).Draw(t, "length")
			n := rapid.Float64Range(1, 1000).Draw(t, "cycles")
			at += length
			series = append(series, result.Sample{AtS: at, CyclesPerS: n / length})
			cycles = append(cycles, n)
		}
		part := func(from, to int) float64 {
			sum, start := 0.0, 0.0
			if from > 0 {
				start = series[from-1].AtS
			}
			for _, n := range cycles[from:to] {
				sum += n
			}
			return sum / (series[to-1].AtS - start)
		}
		n := len(series) / 10
		got, err := result.SteadyRatio(series)
		require.NoError(t, err)
		require.InEpsilon(t, part(9*n, 10*n)/part(n, 2*n), got, 1e-9)
	})
}

// swept returns a run of two points with two timed rounds each.
func swept(t *testing.T) (*result.Result, []result.RoundHistograms) {
	t.Helper()
	r, hists := sampleResult(t)
	r.Rounds, hists = r.Rounds[:4], hists[:4]
	for i := range r.Rounds {
		r.Rounds[i].Point = 1 + i%2
	}
	r.Manifest.Scenario = scenario.Scenario{
		Topology: scenario.Topology{Durability: "none"},
		Sweeps:   []scenario.Sweep{{Path: "topology.shards", Values: []string{"1", "4"}}},
	}
	r.Metrics = result.SummariseLedger(r.Rounds)
	for number, shards := range []string{"1", "4"} {
		var rounds []result.Round
		for _, round := range r.Rounds {
			if round.Point == number+1 {
				rounds = append(rounds, round)
			}
		}
		metrics, err := result.Summarise(rounds, hists, result.OfLoad)
		require.NoError(t, err)
		r.Points = append(r.Points, result.Point{
			Number: number + 1, Name: "shards=" + shards,
			Values: []result.Value{{Path: "topology.shards", Key: "shards", Text: shards}}, Metrics: metrics,
		})
	}
	return r, hists
}

func TestPointsAreStoredAndPublished(t *testing.T) {
	r, hists := swept(t)
	f := store(t, r, hists)
	got, _, err := result.Read(f.Path())
	require.NoError(t, err)
	assert.Equal(t, r.Points, got.Points)

	var out bytes.Buffer
	require.NoError(t, result.NewDocument(result.NewOutcome(r, "runs/x")).WriteJSON(&out))
	var doc struct {
		Scenarios []struct {
			Metrics map[string]any
			Points  []struct {
				Name    string
				Metrics map[string]map[string]any
			}
		}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &doc))
	points := doc.Scenarios[0].Points
	require.Len(t, points, 2)
	assert.Equal(t, "shards=4", points[1].Name)
	assert.InDelta(t, 103_000, points[1].Metrics["cycles_per_s"]["median"], 0)
	assert.Len(t, doc.Scenarios[0].Metrics, 3, "rounds of different points have only the ledger in common")

	r.Verdict = result.Incorrect
	for _, p := range result.NewOutcome(r, "runs/x").Points {
		assert.Len(t, p.Metrics, 3, "no figures with an unbalanced ledger")
	}
	assert.Contains(t, r.Points[0].Metrics, "cycles_per_s", "the result must not be modified")

	m := r.Points[1].Metrics["cycles_per_s"]
	m.High = math.Inf(1)
	r.Points[1].Metrics["cycles_per_s"] = m
	r.Verdict = result.Pass
	require.ErrorContains(t, f.Store(r, hists), "points[1].metrics.cycles_per_s.high is +Inf")
	require.ErrorContains(t, result.NewDocument(result.NewOutcome(r, "")).WriteJSON(&out), "scenarios[0].points[1].metrics.cycles_per_s")
}

func TestEachPointIsABenchmark(t *testing.T) {
	r, _ := swept(t)
	r.Rounds[3].Calibration = true
	lines, _ := bench(t, r)
	require.Len(t, lines, 3, "a round that found the peak has no line")
	assert.Equal(t, "FullCycle/durability=none/shards=1", lines[0].Name.String())
	assert.Equal(t, "FullCycle/durability=none/shards=4", lines[1].Name.String())

	r.Points[0].Values = []result.Value{
		{Path: "topology.durability", Key: "durability", Text: "sync"},
		{Path: "workload.main.payload", Key: "workload.main.payload", Text: `fixed("1KiB")`},
	}
	lines, _ = bench(t, r)
	assert.Equal(t, "FullCycle/durability=sync/workload_main_payload=fixed-1kib", lines[0].Name.String())
}

func TestBenchOfAnIdleServer(t *testing.T) {
	r, _ := sampleResult(t)
	r.Manifest.Scenario.Workloads = []scenario.Workload{{Arrivals: scenario.Arrivals{Kind: scenario.None}}}
	r.Rounds = []result.Round{{Number: 1, Verdict: result.Pass, Metrics: map[string]float64{result.ServerCPUCores: 0.002}}}
	lines, _ := bench(t, r)
	require.Len(t, lines, 1)
	assert.InDelta(t, 0.002, value(t, lines[0], "server-CPUs"), 0)
}

func TestSweptSettings(t *testing.T) {
	r, _ := swept(t)
	assert.Equal(t, []string{"1", "4"}, r.Manifest.Scenario.Swept("topology.shards"))
	assert.Empty(t, r.Manifest.Scenario.Swept("topology.procs"))
	assert.Equal(t, "none", r.Manifest.Durability())
	r.Manifest.Scenario.Sweeps = []scenario.Sweep{{Path: "topology.durability", Values: []string{"none", "sync"}}}
	assert.Equal(t, "none, sync", r.Manifest.Durability(), "the text names all durabilities")
}

func TestHistogramsOfAnOpenLoad(t *testing.T) {
	r, hists := sampleResult(t)
	for i := range hists {
		hists[i].Slip, hists[i].Service = result.NewHistogram(), result.NewHistogram()
		require.NoError(t, hists[i].Slip.RecordValue(int64(i+1)*1_000_000))
	}
	f := store(t, r, hists)
	_, got, err := result.Read(f.Path())
	require.NoError(t, err)
	assert.True(t, hists[1].Slip.Equals(got[1].Slip))
	assert.Zero(t, got[1].Service.TotalCount())
	merged, err := result.Merge(got[0].Histograms, got[1].Histograms)
	require.NoError(t, err)
	assert.EqualValues(t, 2, merged.Slip.TotalCount())

	s := golden.Cases(t, "testdata/merges.golden")
	got[1].Slip = nil
	_, err = result.Merge(got[0].Histograms, got[1].Histograms)
	s.Error(t, "numbers differ", err)
	got[0].Service = nil
	got[1].Slip, got[1].Service = got[0].Slip, nil
	got[0].Slip, got[0].Service = nil, got[2].Service
	_, err = result.Merge(got[0].Histograms, got[1].Histograms)
	s.Error(t, "names differ", err)
}

func TestHistogramsThatAreNone(t *testing.T) {
	r, hists := sampleResult(t)
	f := store(t, r, hists)
	path := filepath.Join(f.Path(), result.HistogramsFile)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	s := golden.Cases(t, "testdata/histograms.golden")
	s.Replace(f.Path(), "FOLDER")
	for name, change := range map[string][2]string{
		"unknown":         {`"cycle"`, `"speed"`},
		"missing":         {`"settle"`, `"slip"`},
		"not a histogram": {`"settle": "`, `"slip": "!`},
	} {
		require.NoError(t, os.WriteFile(path, bytes.Replace(data, []byte(change[0]), []byte(change[1]), 1), 0o600))
		_, _, err := result.Read(f.Path())
		s.Error(t, name, err)
	}
}

func TestDeriveReads(t *testing.T) {
	r := result.Round{WindowSeconds: 4, Reads: &result.Reads{Answered: 200, Found: 30, Gone: 90, Foreign: 80, Dropped: 7}, Ledger: result.Ledger{Reads: 300, Misread: 2}}
	h := result.NewHistograms()
	h.Read = result.NewHistogram()
	require.NoError(t, h.Read.RecordValue(2_000_000))
	r.Derive(h)
	assert.Equal(t, []float64{50, 0.25, 7, 2}, []float64{
		r.Metrics[result.ReadsPerS], r.Metrics[result.ReadFoundRatio], r.Metrics[result.ReadsDropped], r.Metrics[result.ReadMismatches],
	})
	assert.InEpsilon(t, 2, r.Metrics[result.ReadLatencyMs+"_p99"], 0.01)

	unanswered := result.Round{WindowSeconds: 4, Reads: &result.Reads{}}
	unanswered.Derive(result.NewHistograms())
	for _, name := range []string{result.ReadsPerS, result.ReadFoundRatio, result.ReadMismatches} {
		assert.NotContains(t, unanswered.Metrics, name, "figures that were not measured must be missing, not zero")
	}

	sum := result.Reads{Answered: 1, Found: 2, Gone: 3, Foreign: 4, ForeignStored: 5, Wrong: 6, Dropped: 7, Refused: 8, Unended: 9, Tasks: 10, Mismatches: 11}
	sum.Add(sum)
	assert.Equal(t, result.Reads{Answered: 2, Found: 4, Gone: 6, Foreign: 8, ForeignStored: 10, Wrong: 12, Dropped: 14, Refused: 16, Unended: 18, Tasks: 20, Mismatches: 22}, sum)
}

// Each kind of reads has its rate, its drops and its latency.
func TestDeriveReadsByKind(t *testing.T) {
	r := result.Round{WindowSeconds: 4, OtherReads: map[string]result.Reads{
		"list": {Answered: 40, Found: 30, Gone: 10, Dropped: 1}, "stats": {Answered: 80, Found: 80}, "await": {Answered: 20, Found: 4, Gone: 11, Unended: 1, Foreign: 4, Dropped: 2},
		"of a later version": {Answered: 1},
	}}
	h := result.NewHistograms()
	for i, kind := range []string{"list", "stats", "await"} {
		of := result.NewHistogram()
		require.NoError(t, of.RecordValue(int64(i+1)*1_000_000))
		h.SetRead(kind, of)
	}
	r.Derive(h)
	for metric, want := range map[string]float64{
		result.ListsPerS: 10, result.ListsDropped: 1, result.StatsPerS: 20, result.StatsDropped: 0, result.AwaitsPerS: 5, result.AwaitsDropped: 2,
		result.AwaitEndedRatio: 0.25, result.ListLatencyMs + "_p50": 1, result.StatsLatencyMs + "_p50": 2, result.AwaitLatencyMs + "_max": 3,
	} {
		require.Contains(t, r.Metrics, metric)
		assert.InDelta(t, want, r.Metrics[metric], 0.02*want, metric)
	}
	assert.NotContains(t, r.Metrics, result.ReadsPerS, "the load has no gets")

	var gets *result.Reads
	var others map[string]result.Reads
	for range 2 {
		gets, others = result.AddReads(gets, others, "get", result.Reads{Found: 1})
		gets, others = result.AddReads(gets, others, "list", result.Reads{Found: 2})
	}
	assert.Equal(t, &result.Reads{Found: 2}, gets)
	assert.Equal(t, map[string]result.Reads{"list": {Found: 4}}, others)
}

// Wrong answers of reads are summed over all rounds with reads, like tasks at fault.
func TestSummariseReads(t *testing.T) {
	rounds, hists := sampleRounds(t, 3)
	for i := range rounds {
		rounds[i].Reads = &result.Reads{Answered: 10, Found: 5, Gone: 5}
		rounds[i].Ledger.Reads = 20
		hists[i].Read = result.NewHistogram()
		require.NoError(t, hists[i].Read.RecordValue(1_000_000))
		rounds[i].Derive(hists[i].Histograms)
	}
	rounds[1].Ledger.Misread, rounds[3].Ledger.Misread = 2, 5 // the last one was profiled
	rounds[0].Ledger.Reads = 0                                // a point without reads
	m, err := result.Summarise(rounds, hists, result.OfLoad, result.OfReads)
	require.NoError(t, err)
	assert.Equal(t, result.Metric{Median: 7, Low: 0, High: 5, N: 3, Unit: "reads"}, m[result.ReadMismatches])
	assert.Equal(t, 3, m[result.ReadsPerS].N)
	assert.EqualValues(t, 3, m[result.ReadLatencyMs+"_n"].Median)

	for i := range rounds {
		delete(rounds[i].Metrics, result.ReadsPerS)
	}
	_, err = result.Summarise(rounds, hists, result.OfLoad, result.OfReads)
	golden.Cases(t, "testdata/noreads.golden").Error(t, "no rate of reads", err)
	_, err = result.Summarise(rounds, hists, result.OfLoad)
	require.NoError(t, err)
}

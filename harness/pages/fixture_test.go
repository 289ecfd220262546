package pages_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// manifest returns the manifest of a made-up host and build.
func manifest(t *testing.T, s *scenario.Scenario) result.Manifest {
	t.Helper()
	data, err := json.Marshal(s)
	require.NoError(t, err)
	m := result.Manifest{
		Command: []string{"bin/prony", "run", "scenarios/" + s.Name + ".hcl"},
		Host:    result.Host{OS: "linux", Kernel: "6.1.0", Arch: "amd64", CPUModel: "Invented CPU", CPUs: 2, Virtualisation: "none", Container: "none"},
		Build:   result.Build{GoVersion: "go1.26.0", Commit: "0123456789abcdef0123456789abcdef01234567"},
	}
	require.NoError(t, json.Unmarshal(data, &m.Scenario))
	return m
}

func load(name string, sweeps ...scenario.Sweep) *scenario.Scenario {
	return &scenario.Scenario{
		Name: name, Topology: scenario.Topology{Kind: "single", Shards: 1, Durability: "none", Listen: "tcp"}, Rounds: 7, Sweeps: sweeps,
		Workloads: []scenario.Workload{{
			Name: "main", Driver: "stream", Connections: 1, Tenants: 1, Queues: 1, Producers: 8, Workers: 8, Batch: 1,
			Payload: scenario.Payload{Kind: "fixed", Min: 64, Max: 64}, Arrivals: scenario.Arrivals{Kind: scenario.Closed}, Lease: 30 * time.Second,
		}},
		Phases: scenario.Phases{Warmup: time.Second, Window: 10 * time.Second, Drain: 30 * time.Second},
	}
}

// made invents a run with these cycles per second of its rounds. If there are points, the rounds
// alternate between them.
func made(t *testing.T, name string, rates []float64, points ...result.Point) (*result.Result, []result.RoundHistograms) {
	t.Helper()
	var sweeps []scenario.Sweep
	for _, p := range points {
		if len(sweeps) == 0 {
			sweeps = append(sweeps, scenario.Sweep{Path: p.Values[0].Path})
		}
		sweeps[0].Values = append(sweeps[0].Values, p.Values[0].Text)
	}
	r := &result.Result{
		Version: result.Version, Run: result.NewID(begin, name), Scenario: name, Title: "Fixture " + name, Started: begin, Finished: begin.Add(time.Minute),
		Verdict: result.Pass, Manifest: manifest(t, load(name, sweeps...)),
		Bound: &result.Bound{By: result.BoundLock, Sentence: "bound by lock: as it was measured"},
	}
	var hists []result.RoundHistograms
	for i, rate := range rates {
		round := result.Round{
			Number: i + 1, Verdict: result.Pass, Started: begin, WindowSeconds: 10, Cycles: uint64(rate * 10),
			Metrics: map[string]float64{result.ServerCPUUsPerCycle: 4, result.ClientCPUUsPerCycle: 2, result.ServerRSSMBMax: 100, result.ServerCPUCores: 0.5},
			Ledger:  result.Ledger{Enqueued: uint64(rate * 10), Completed: uint64(rate * 10)},
		}
		if len(points) > 0 {
			round.Point = 1 + i%len(points)
		}
		h := result.NewHistograms()
		for _, kind := range h.Kinds() {
			for k := range 100 {
				require.NoError(t, kind.Histogram.RecordValue(int64(time.Millisecond)+int64(k*i)*int64(time.Microsecond)))
			}
		}
		round.Derive(h)
		r.Rounds, hists = append(r.Rounds, round), append(hists, result.RoundHistograms{Round: i + 1, Histograms: h})
	}
	if len(points) == 0 {
		var err error
		r.Metrics, err = result.Summarise(r.Rounds, hists, result.OfLoad)
		require.NoError(t, err)
		return r, hists
	}
	r.Metrics, r.Bound = result.SummariseLedger(r.Rounds), nil
	for _, p := range points {
		own := slices.DeleteFunc(slices.Clone(r.Rounds), func(round result.Round) bool { return round.Point != p.Number })
		var err error
		p.Metrics, err = result.Summarise(own, hists, result.OfLoad)
		require.NoError(t, err)
		r.Points = append(r.Points, p)
	}
	return r, hists
}

func publish(t *testing.T, reports string, r *result.Result, hists []result.RoundHistograms) {
	t.Helper()
	f, err := result.Create(t.TempDir(), r.Run)
	require.NoError(t, err)
	require.NoError(t, f.Store(r, hists))
	_, err = report.Publish(nil, f.Path(), reports)
	require.NoError(t, err)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// batches returns the points of a sweep.
func batches() []result.Point {
	at := func(number int, text string) result.Point {
		return result.Point{Number: number, Name: "batch=" + text, Values: []result.Value{{Path: "workload.main.batch", Key: "batch", Text: text}}}
	}
	return []result.Point{at(1, "1"), at(2, "64")}
}

// alone are the rates of the run without a sweep, and swept those of the run with two points. In
// some turns the host is up to three times slower, so the intervals of the points overlap, but the
// second point always has twice the rate.
var (
	alone = []float64{1000, 1010, 1020, 1030, 1040, 1050, 1060}
	swept = []float64{300, 600, 100, 200, 200, 400, 300, 600, 100, 200, 200, 400, 250, 500}
)

// repository makes a repository with published data, the pages of testdata and a code file. It
// returns the folder of the reports.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	reports := filepath.Join(root, "reports")
	r, hists := made(t, "alone", alone)
	publish(t, reports, r, hists)
	r, hists = made(t, "swept", swept, batches()...)
	publish(t, reports, r, hists)
	publishSoak(t, reports)
	require.NoError(t, os.CopyFS(filepath.Join(reports, "pages"), os.DirFS(filepath.Join("testdata", "pages"))))
	write(t, filepath.Join(root, "engine", "a.go"), "package engine\n\nfunc runner() {}\n\nfunc run() {}\n")
	write(t, filepath.Join(root, "engine", "a_test.go"), "package engine\n\nfunc TestRun(t *testing.T) {}\n\nfunc TestTwice(t *testing.T) {}\n")
	write(t, filepath.Join(root, "harness", "b_test.go"), "package harness\n\nfunc TestTwice(t *testing.T) {}\n")
	return reports
}

func publishSoak(t *testing.T, reports string) {
	t.Helper()
	percent := func(v float64) *float64 { return &v }
	s := load("long")
	s.Soak = &scenario.Soak{For: 20 * time.Minute, Keep: scenario.SoakKeep{Age: time.Hour, Bytes: 1 << 30}, DriftPercentMax: 2}
	soak := &result.Soak{
		Version: result.SoakVersion, Scenario: "long", Title: "A soak", Manifest: manifest(t, s), Started: begin, Finished: begin.Add(20 * time.Minute),
		Verdict: result.Inconclusive, WindowS: 10, ForS: 1200, MeasuredS: 1200,
		Totals: result.SoakTotals{
			Windows: 120, Judged: 110, Cycles: 1_234_567, Starts: 1, Ledger: result.Ledger{Enqueued: 1_234_567, Completed: 1_234_567},
			Metrics: map[string]float64{result.CyclesPerS: 987.6},
		},
		Drifts: []result.SoakDrift{{
			Figure: scenario.SoakRSS, Unit: "MB", Mean: 100, First: 99, Last: 101, SpanS: 120, Values: 110,
			WorsePercent: percent(1.5), LowPercent: percent(-0.5), HighPercent: percent(3.5), P: percent(0.2), LimitPercent: 2, Verdict: result.Inconclusive,
		}},
	}
	dir := t.TempDir()
	require.NoError(t, result.WriteSoak(dir, soak))
	_, err := report.Publish(nil, dir, reports)
	require.NoError(t, err)
}

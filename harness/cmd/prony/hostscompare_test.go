package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/hostcompare"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// hostRun is a run of a host whose figures are those of a slow host times its speed.
type hostRun struct {
	scenario   string
	durability string
	workers    int
	speed      float64
	rounds     int
	verdict    result.Verdict
	host       result.Host
	commit     string
	after      time.Duration // start relative to the first run
	sweep      bool          // with two points
	servers    []result.ServerHost
	bare       bool // the bare data path was also measured
}

var (
	slowHost = result.Host{OS: "linux", Arch: "amd64", CPUModel: "Slow CPU", CPUs: 2, GOMAXPROCS: 2, MemoryMB: 4000, Kernel: "6.1", Filesystem: "ext4", FsyncMsP50: 2, Virtualisation: "kvm"}
	fastHost = result.Host{OS: "linux", Arch: "arm64", CPUModel: "Fast CPU", CPUs: 64, GOMAXPROCS: 64, MemoryMB: 256000, Kernel: "6.12", Filesystem: "xfs", FsyncMsP50: 0.05, FsyncMsP99: 0.2, ThreadHopUsP50: 23, ThreadHopUsP99: 60, PressureCPUPercent: new(1.5)}
)

// store writes the run into a folder.
func (h hostRun) store(t *testing.T, folder string) {
	t.Helper()
	started := time.Date(2026, 11, 21, 17, 0, 0, 0, time.UTC).Add(h.after)
	f, err := result.Create(folder, result.NewID(started, h.scenario))
	require.NoError(t, err)
	r := &result.Result{
		Version: result.Version, Run: f.ID(), Scenario: h.scenario, Started: started, Finished: started, Verdict: h.verdict,
		Manifest: result.Manifest{
			Host: h.host, Hosts: h.servers, Build: result.Build{Commit: h.commit},
			Scenario: scenario.Scenario{
				Name: h.scenario, Rounds: h.rounds,
				Topology: scenario.Topology{Kind: "single", Shards: 1, Durability: h.durability, Listen: "tcp"},
				Workloads: []scenario.Workload{{
					Name: "main", Driver: "stream", Connections: 1, Tenants: 1, Queues: 1, Producers: 2, Workers: h.workers, Batch: 1,
					Payload: scenario.Payload{Kind: "fixed", Min: 64, Max: 64}, Arrivals: scenario.Arrivals{Kind: scenario.Closed}, Lease: time.Minute, InFlight: 64,
				}},
				Phases: scenario.Phases{Warmup: time.Second, Window: 10 * time.Second, Drain: 30 * time.Second},
			},
		},
		Metrics: map[string]result.Metric{},
	}
	if h.bare {
		figure := func(v float64) result.Metric { return result.Metric{Median: v, Low: v, High: v, N: 8} }
		r.References = []result.Reference{{
			Name: scenario.ReferenceBare, Batch: 1, Durability: h.durability,
			PerS: figure(12_500 * h.speed), CPUUs: figure(12 / h.speed), ServerCPUUs: new(figure(8 / h.speed)), ClientCPUUs: new(figure(4 / h.speed)),
		}}
	}
	points := []int{0}
	if h.sweep {
		points = []int{1, 2}
		r.Manifest.Scenario.Sweeps = []scenario.Sweep{{Path: "workload.main.batch", Values: []string{"1", "8"}}}
	}
	var all []result.RoundHistograms
	for _, point := range points {
		var rounds []result.Round
		var histograms []result.RoundHistograms
		for i := range h.rounds {
			spread := 1 + float64(i)/100
			round := result.Round{
				Number: len(all) + 1, Point: point, Verdict: result.Pass, Started: started, WindowSeconds: 10, Cycles: uint64(100_000 * h.speed * spread),
				Metrics: map[string]float64{
					result.ServerCPUUsPerCycle: 10 / h.speed * spread, result.ClientCPUUsPerCycle: 5 / h.speed, result.ServerRSSMBMax: 200, result.ServerCPUCores: 0.9,
				},
				Ledger: result.Ledger{Enqueued: 1_000_000, Completed: 1_000_000},
			}
			of := result.NewHistograms()
			for n := range 1000 {
				ns := int64(1e6 / h.speed * spread * (1 + float64(n)/1000))
				for _, kind := range of.Kinds() {
					require.NoError(t, kind.Histogram.RecordValue(ns))
				}
			}
			round.Derive(of)
			rounds, histograms = append(rounds, round), append(histograms, result.RoundHistograms{Round: round.Number, Histograms: of})
			all = append(all, histograms[len(histograms)-1])
		}
		metrics, err := result.Summarise(rounds, histograms, result.OfLoad)
		require.NoError(t, err)
		r.Rounds = append(r.Rounds, rounds...)
		if point == 0 {
			r.Metrics = metrics
		} else {
			name := []string{"", "batch=1", "batch=8"}[point]
			r.Points = append(r.Points, result.Point{Number: point, Name: name, Values: []result.Value{}, Metrics: metrics})
		}
	}
	require.NoError(t, f.WriteManifest(r.Manifest))
	require.NoError(t, f.Store(r, all))
}

// twoHosts makes the folders a and b in the working directory.
func twoHosts(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	a := hostRun{scenario: "same", durability: "sync", workers: 4, speed: 1, rounds: 7, verdict: result.Pass, host: slowHost, commit: "0123abcd"}
	b := a
	b.speed, b.host = 4, fastHost
	older := b
	older.speed, older.after = 2, -time.Hour
	invalid := b
	invalid.speed, invalid.after, invalid.verdict = 100, time.Hour, result.Invalid
	for _, run := range []hostRun{b, older, invalid} {
		run.store(t, "b")
	}
	a.store(t, "a")
	for _, c := range []struct {
		name   string
		change func(*hostRun)
		a, b   bool
	}{
		{"few", func(r *hostRun) { r.rounds, r.commit = 3, "fedcba98" }, true, true},
		{"with-bare", func(r *hostRun) { r.bare = true }, true, true},
		{"only-a", func(*hostRun) {}, true, false},
		{"only-b", func(*hostRun) {}, false, true},
		{"settings", func(r *hostRun) { r.workers, r.durability = 8, "none" }, true, true},
		{"broken", func(r *hostRun) { r.verdict = result.Incorrect }, true, true},
		{"swept", func(r *hostRun) { r.sweep = true }, true, true},
		{"apart", func(r *hostRun) {
			r.servers = []result.ServerHost{{Node: "n1", CPUModel: "Server CPU", CPUs: 8}, {Node: "n2"}}
		}, false, true},
	} {
		ofA, ofB := a, b
		ofA.scenario, ofB.scenario, ofA.after, ofB.after = c.name, c.name, time.Minute, time.Minute
		if c.change(&ofB); c.name == "swept" || c.name == "with-bare" {
			c.change(&ofA)
		}
		if c.a {
			ofA.store(t, "a")
		}
		if c.b {
			ofB.store(t, "b")
		}
	}
}

func TestHostsCompare(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	twoHosts(t)
	for golden, flags := range map[string][]string{"hosts.golden": nil, "hosts.md.golden": {"--markdown"}} {
		got := prony(t, append([]string{"hosts", "compare", "a", "b"}, flags...)...)
		require.Equal(t, 0, got.code, got.stderr)
		assert.Empty(t, got.stderr)
		path := filepath.Join(here, "testdata", golden)
		if *rewrite {
			require.NoError(t, os.WriteFile(path, []byte(got.stdout), 0o600))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(want), got.stdout, "run with -rewrite and read the difference")
	}

	got := prony(t, "hosts", "compare", "--json", "a", "b")
	require.Equal(t, 0, got.code, got.stderr)
	var c hostcompare.Comparison
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &c))
	require.Len(t, c.Scenarios, 5)
	rate := c.Scenarios[1].Metrics[0]
	assert.Equal(t, "same", c.Scenarios[1].Name)
	assert.Equal(t, result.CyclesPerS, rate.Name)
	require.NotNil(t, rate.Ratio)
	assert.Nil(t, rate.OfBareA, "the bare data path was not measured")
	require.NotNil(t, c.Scenarios[4].Metrics[0].OfBareB)
	assert.InEpsilon(t, 41_200.0/50_000, c.Scenarios[4].Metrics[0].OfBareB.Median, 1e-6)
	assert.InEpsilon(t, 4, rate.Ratio.Center, 1e-6, "from the newest valid run")
	assert.True(t, rate.Ratio.Low < 4 && rate.Ratio.High > 4)
	assert.Equal(t, []hostcompare.Row{{Name: "CPU", A: []string{"Slow CPU"}, B: []string{"Fast CPU"}}}, c.Manifest[1:2])
	assert.Len(t, c.Left, 5)
}

func TestHostsCompareWantsResults(t *testing.T) {
	twoHosts(t)
	require.NoError(t, os.MkdirAll("empty/deep", 0o700))
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"a"}, "hosts compare needs 2 result folders, but got 1"},
		{[]string{"a", "missing"}, "missing is not a folder of results: name one such as reports/data or runs"},
		{[]string{"empty", "b"}, "no result.json found in empty or the folders below it"},
		{[]string{"a", "b", "--json", "--markdown"}, "--json and --markdown are both given: choose one"},
	} {
		got := prony(t, append([]string{"hosts", "compare"}, c.args...)...)
		assert.Equal(t, 2, got.code, c.args)
		assert.Contains(t, got.stderr+got.stdout, c.says)
	}
	require.NoError(t, os.WriteFile("b/latest/result.json", []byte("{"), 0o600))
	got := prony(t, "hosts", "compare", "a", "b")
	assert.Equal(t, 2, got.code)
	assert.Contains(t, got.stderr, "corrupt")
}

package report_test

import (
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// mixedFixture is the fixture as a run of two concurrent workloads, with all optional parts of a
// result.
func mixedFixture(t *testing.T) (*result.Result, []result.RoundHistograms) {
	t.Helper()
	r, hists := fixture(t, 2, 1)
	workload := scenario.Workload{
		Driver: "stream", Connections: 2, Tenants: 1, Queues: 8, Producers: 32, Workers: 128, Batch: 1, Lease: 30 * time.Second,
		Payload: scenario.Payload{Kind: "fixed", Min: 64, Max: 64},
	}
	noisy, quiet := workload, workload
	noisy.Name, noisy.Arrivals = "noisy", scenario.Arrivals{Kind: scenario.Closed}
	noisy.Keys = scenario.Keys{Kind: "zipf", Skew: 1.2}
	quiet.Name, quiet.InFlight = "quiet", 1000
	quiet.Payload = scenario.Payload{Kind: "lognormal", Min: 32, Max: 4096, Median: 200, P99: 2000}
	quiet.Arrivals = scenario.Arrivals{
		Kind: scenario.Burst, Rate: scenario.Rate{PerSecond: 1000}, To: scenario.Rate{OfPeak: 0.5}, Every: 5 * time.Second, Over: time.Second,
	}
	r.Manifest.Scenario = expanded(t, &scenario.Scenario{
		Name: "fixture", Topology: scenario.Topology{Kind: "single", Shards: 1, Durability: "none", Listen: "tcp"},
		Workloads: []scenario.Workload{noisy, quiet}, Phases: scenario.Phases{Window: 10 * time.Second, Drain: time.Second},
	})
	known := func(v float64) *float64 { return &v }
	for i := range r.Rounds {
		round := &r.Rounds[i]
		round.Workloads = []result.RoundWorkload{
			{Name: "noisy", Cycles: round.Cycles - 10_000},
			{Name: "quiet", Cycles: 10_000, Arrivals: &result.Arrivals{PerSecond: 1400, PeakPerSecond: 5000, Scheduled: 14_000, Finished: 10_000, Dropped: 4000}},
		}
		hists[i].Workloads = []result.WorkloadHistograms{
			{Name: "noisy", Histograms: hists[i].Histograms}, {Name: "quiet", Histograms: hists[i].Histograms},
		}
		for w := range round.Workloads {
			round.Workloads[w].Derive(round.WindowSeconds, hists[i].Histograms)
		}
		round.Signals = &result.Signals{StealPercent: known(1.25), ForeignCPUPercent: known(0), PressureCPUPercent: known(17), Samples: 41}
		round.Warmup = &result.Warmup{Stationary: i != 1, TrendPercent: 3.5, PValue: 0.02, WarmupS: 2}
		if i == 1 {
			round.Warmup.WarmupTrendPercent = known(12)
			round.Warmup.Reason = "the rate rose by 3.5 % over the window"
		}
		round.Balances = []result.Balance{{Workload: "noisy", Held: 160, Outstanding: 84, Growth: 12, PValue: 0.4}}
		round.Processes = []result.Process{
			{Name: "generator", CPUCores: 0.8, RSSMBMax: 60, FDsMax: 12, Goroutines: 170, GCPauseMsP99: 0.05, GCPauseMsMax: 0.25, GCCycles: 4, AllocatedBytes: round.Cycles * 100},
			{Name: "server", CPUCores: 0.9, RSSMBMax: 184, FDsMax: 40, Goroutines: 90, GCCycles: 20, Unknown: []string{"gc_pause_ms_p99", "gc_pause_ms_max"}, AllocatedBytes: round.Cycles * 1000, AllocatedObjects: round.Cycles * 9},
		}
		// 10 cycles per batch, and 2 ms per batch: batches in sequence reach 5,000 cycles per
		// second.
		batches := round.Cycles / 10
		stage := func(name string, ms float64) result.Stage {
			buckets := make([]uint64, 25)
			buckets[bits.Len64(uint64(ms*1e3))] = batches
			return result.StageOf(name, ms*float64(batches), buckets)
		}
		round.Stages = []result.Stage{
			stage("inbox", 0.25), stage("decide", 0.125), stage("apply", 0.125), stage("commit_wait", 0.5), stage("commit", 0.875), stage("reply", 0.125),
		}
	}
	var err error
	r.Workloads, err = result.SummariseWorkloads(r.Rounds, hists, []result.PartsOfWorkload{
		{Name: "noisy", Parts: []result.Part{result.OfLoad}}, {Name: "quiet", Parts: []result.Part{result.OfLoad}},
	})
	require.NoError(t, err)
	r.Locks = []result.Lock{
		{
			Name: "shard.inbox.mu", Kind: "mutex", WaitNs: 3e9, WaitNsPerCycle: 18_000, Share: 0.62, Waits: 123_456,
			Holders: []result.LockSite{{Function: "example.org/engine/shard.(*Inbox).Take", WaitNs: 3e9, Share: 1}},
			Waiters: []result.LockSite{
				{Function: "example.org/engine/shard.(*Inbox).Put[go.shape.int|uint]", WaitNs: 2e9, Share: 0.75}, {Function: "main.run", From: "example.org/lib.Call", WaitNs: 1e9, Share: 0.25},
			},
		},
		{Name: "runtime.unlock", Kind: "runtime", Share: 0.37, WaitNsPerCycle: 10_000},
		{Name: "runtime.sysmon", Kind: "runtime", Share: 0.01, WaitNsPerCycle: 0.15, Waits: 40},
	}
	r.Rounds[2].Traces = []result.Trace{{File: "traces/round-03.trace", AtS: 4.25, LatencyMs: 131, CeilingMs: 100}}
	r.Profiles[2].Charges = []result.Charge{
		{Function: "example.org/engine/rpc.decode", Callers: []string{"example.org/engine/rpc.(*Service).serve"}, Value: 1.9e9, Samples: 3600},
		{Function: result.ChargeGC, Value: 0.9e9, Samples: 1700},
	}
	r.Bound = &result.Bound{By: result.BoundServerCPU, Sentence: "bound by server CPU: the servers keep 1.9 of 2 CPUs busy"}
	r.Causes = []result.Cause{{Kind: "lock", Name: "shard.inbox.mu", Sentence: "62 % of lock wait is shard.inbox.mu, held by shard.(*Inbox).Take; 18 µs per cycle", Score: 18}}
	return r, hists
}

// The golden file under testdata has the page of a result with all parts.
func TestGoldenPageOfEverything(t *testing.T) {
	r, hists := mixedFixture(t)
	files := rendered(t, r, hists)
	assert.Contains(t, files, "fixture-workloads.svg")
	golden.Text(t, "testdata/golden/everything.md", files["fixture.md"])
}

func sections(page string) map[string]string {
	all := map[string]string{}
	for _, part := range strings.Split(page, "\n## ")[1:] {
		heading, rest, _ := strings.Cut(part, "\n")
		name, _, _ := strings.Cut(heading, ", durability")
		all[name] = rest
	}
	return all
}

func TestUnmeasuredSignalsHaveNoSection(t *testing.T) {
	r, hists := mixedFixture(t)
	for i := range r.Rounds {
		r.Rounds[i].Signals = nil
	}
	assert.NotContains(t, sections(rendered(t, r, hists)["fixture.md"]), "Host in the windows", "unmeasured signals have no section")
}

// The terms of the formula are the measured values, and their product is the measured rate.
func TestThroughputInMeasuredTerms(t *testing.T) {
	r, hists := mixedFixture(t)
	r.Rounds = r.Rounds[:1]
	r.Rounds[0].Cycles, r.Rounds[0].WindowSeconds = 1_000_000, 10
	for i := range r.Rounds[0].Stages {
		s := &r.Rounds[0].Stages[i]
		*s = result.StageOf(s.Name, s.MeanMs()*100_000, []uint64{0, 100_000})
	}
	s := sheet(t)
	of := func() string { return sections(rendered(t, r, hists[:1])["fixture.md"])["Stages of the pipeline"] }
	s.Equal(t, "one server", of())

	// With Raft, replicating and applying are parts of the commit and must not count twice.
	r.Rounds[0].Stages = append(r.Rounds[0].Stages, result.StageOf("replicate", 50_000, []uint64{100_000}))
	s.Equal(t, "with Raft", of())

	r.Rounds[0].Stages = []result.Stage{{Name: "decide"}}
	s.Equal(t, "without times", of())
}

func TestLocksAreNamed(t *testing.T) {
	r, hists := mixedFixture(t)
	s := sheet(t)
	page := func() string { return rendered(t, r, hists)["fixture.md"] }
	before := page()
	r.Locks[0].Node, r.Locks[0].Point = "n2", 7
	s.Equal(t, "of a node and a point", added(before, page()))

	r.Locks = r.Locks[2:]
	s.Equal(t, "no long wait", sections(page())["Locks"])
	r.Metrics = nil
	s.Equal(t, "unknown time of a cycle", sections(page())["Locks"])
}

func TestNoWorkloadsWithABrokenLedger(t *testing.T) {
	r, hists := mixedFixture(t)
	r.Verdict = result.Incorrect
	assert.NotContains(t, rendered(t, r, hists)["fixture.md"], "## Workloads", "no figures with a broken ledger")
}

// Optional results have columns only on pages that have them.
func TestLedgerSaysWhatWentAstray(t *testing.T) {
	r, hists := fixture(t, 2, 0)
	assert.NotContains(t, rendered(t, r, hists)["fixture.md"], "isrouted")
	r.Verdict, r.Rounds[1].Verdict = result.Incorrect, result.Incorrect
	r.Rounds[1].Ledger.Misrouted, r.Rounds[1].Ledger.Reordered = 2, 3
	sheet(t).Equal(t, "ledger", sections(rendered(t, r, hists)["fixture.md"])["Ledger"])
}

func TestLimitsOfServersThatAreNotApart(t *testing.T) {
	r, hists := fixture(t, 1, 0)
	s := sheet(t)
	for _, kind := range []string{scenario.Embedded, scenario.NoTopology} {
		r.Manifest.Scenario = expanded(t, &scenario.Scenario{Topology: scenario.Topology{Kind: kind, Durability: "none"}})
		s.Equal(t, kind, sections(rendered(t, r, hists)["fixture.md"])["What this page does not measure"])
	}
}

func TestRampsSayWhatTheyAre(t *testing.T) {
	r, hists := fixture(t, 1, 0)
	r.Rounds[0].Arrivals = &result.Arrivals{PerSecond: 40_500}
	r.Manifest.Scenario = expanded(t, &scenario.Scenario{
		Topology: scenario.Topology{Kind: "single", Durability: "none"},
		Workloads: []scenario.Workload{{Name: "main", Arrivals: scenario.Arrivals{
			Kind: scenario.Ramp, Rate: scenario.Rate{PerSecond: 1000}, To: scenario.Rate{PerSecond: 80_000}, Over: 2 * time.Minute,
		}}},
	})
	of := sections(rendered(t, r, hists)["fixture.md"])
	s := sheet(t)
	s.Equal(t, "arrivals", of["Arrivals"])
	s.Equal(t, "not measured", of["What this page does not measure"])
}

// All published data can be rendered, with complete texts.
func TestPublishedDataIsRendered(t *testing.T) {
	t.Parallel()
	limits, err := gate.LoadBaselines(filepath.Join("..", "..", "baselines"))
	require.NoError(t, err)
	out := t.TempDir()
	require.NoError(t, report.RenderData(limits, filepath.Join("..", "..", "reports"), out))
	pages, err := filepath.Glob(filepath.Join(out, "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "%!", "a format without its value: %s", page)
	}
	require.NoError(t, report.RenderData(limits, t.TempDir(), out), "reports without data")
}

func TestAttacksAreOnThePage(t *testing.T) {
	r, hists := mixedFixture(t)
	r.Rounds[1].Attacks = []result.Attack{{Kind: "long-polls", Tries: 12, Refused: 3, Failed: 2}}
	sheet(t).Equal(t, "attacks", sections(rendered(t, r, hists)["fixture.md"])["Attacks"])
}

// The page has the number of turns, because a share of few turns shows little.
func TestTurnsAreOnThePage(t *testing.T) {
	r, hists := fixture(t, 2, 1)
	s, before := sheet(t), rendered(t, r, hists)["fixture.md"]
	assert.NotContains(t, sections(before), "Turns of the shards", "no section without counts")
	for i := range r.Rounds {
		r.Rounds[i].Turns = &result.Turns{Count: 40_000, Above2Ms: uint64(i), MsMax: 4, ItemsMax: 1_234}
		r.Rounds[i].Derive(hists[i].Histograms)
	}
	var err error
	r.Metrics, err = result.Summarise(r.Rounds, hists, result.OfLoad)
	require.NoError(t, err)
	s.Equal(t, "a run", added(before, rendered(t, r, hists)["fixture.md"]))

	swept, hists := sweptFixture(t)
	before = rendered(t, swept, hists)["fixture.md"]
	for metric, v := range map[string]float64{result.ShardTurnsAbove2MsRatio: 0.125, result.ShardTurnMsMax: 64} {
		swept.Points[0].Metrics[metric] = result.Metric{Median: v, Low: v, High: v, N: 1}
	}
	s.Equal(t, "a sweep", added(before, rendered(t, swept, hists)["fixture.md"]))
}

// The window of loss is on the page, with its durability.
func TestTheWindowOfLossIsOnThePage(t *testing.T) {
	r, hists := fixture(t, 2, 1)
	s, before := sheet(t), rendered(t, r, hists)["fixture.md"]
	assert.NotContains(t, sections(before), "Window of loss", "no section without counts")
	for i := range r.Rounds {
		r.Rounds[i].LossWindow = &result.LossWindow{
			Tasks: result.PeaksOf([]result.Peak{{UpTo: 1_024, Count: 199}, {UpTo: 4_096, Count: uint64(i)}}), Ms: result.PeaksOf([]result.Peak{{UpTo: 12.8, Count: 200}}),
		}
		r.Rounds[i].Derive(hists[i].Histograms)
	}
	var err error
	r.Metrics, err = result.Summarise(r.Rounds, hists, result.OfLoad)
	require.NoError(t, err)
	s.Equal(t, "a run", added(before, rendered(t, r, hists)["fixture.md"]))

	swept, hists := sweptFixture(t)
	before = rendered(t, swept, hists)["fixture.md"]
	swept.Points[0].Metrics[result.UnsyncedTasksMax] = result.Metric{Median: 64, Low: 64, High: 64, N: 1}
	s.Equal(t, "a sweep", added(before, rendered(t, swept, hists)["fixture.md"]))
}

// The page derives the limiting resource of a run without a stored one, if the figures allow it.
func TestPageFindsWhatARunIsBoundBy(t *testing.T) {
	section := func(change func(*result.Result)) string {
		r, hists := fixture(t, 2, 0)
		change(r)
		written, err := report.Render(nil, stored(t, r, hists), t.TempDir())
		require.NoError(t, err)
		return sections(contents(t, written)["fixture.md"])["What limits the rate"]
	}
	s := sheet(t)
	s.Equal(t, "no stages", section(func(*result.Result) {}))
	assert.Empty(t, section(func(r *result.Result) {
		for i := range r.Rounds {
			r.Rounds[i].Cycles = 0
		}
	}), "no rate")
	s.Equal(t, "one CPU", section(func(r *result.Result) { r.Manifest.Scenario.Topology.Procs = 1 }))
	s.Equal(t, "as measured", section(func(r *result.Result) {
		r.Manifest.Scenario.Topology.Procs, r.Bound = 1, &result.Bound{By: result.BoundLock, Sentence: "bound by lock: as it was measured"}
	}))
}

// The page shows the slow commits by cause and individually, and in a plot with the flushes.
func TestSlowCommitsAreOnThePage(t *testing.T) {
	r, hists := fixture(t, 2, 1)
	quiet := rendered(t, r, hists)
	assert.NotContains(t, sections(quiet["fixture.md"]), "Slow commits")
	assert.NotContains(t, quiet, "fixture-stalls.svg")
	r.Rounds[0].Stalls = &result.Stalls{SlowMs: 5}
	r.Rounds[1].Stalls = &result.Stalls{
		SlowMs: 5, Causes: []result.StallCause{{Cause: "rotation", Commits: 2, Ms: 60}, {Cause: "flush", Commits: 1, Ms: 30}},
		Commits: []result.SlowCommit{
			{AtS: 1, Ms: 20, Shard: 3, Commands: 7, Cause: "rotation", CausesMs: map[string]float64{"rotation": 20}},
			{AtS: 2.5, Ms: 70, Node: "n1", Cause: "rotation", CausesMs: map[string]float64{"rotation": 40, "flush": 30}, FlushMs: 65, Collections: 1, SchedulerMs: 12},
		},
		Work: []result.StoreWork{{Kind: "flush", Store: "0", AtS: 2.4, Ms: 200}, {Kind: "compaction", Store: "0", AtS: 2.6, Ms: 300}},
	}
	files := rendered(t, r, hists)
	s := sheet(t)
	s.Equal(t, "section", sections(files["fixture.md"])["Slow commits"])
	s.Equal(t, "plot", labels(files["fixture-stalls.svg"]))
}

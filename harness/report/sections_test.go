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
	path := filepath.Join(golden, "everything.md")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(files["fixture.md"]), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), files["fixture.md"])
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

func TestUnknownSignalsAreUnknown(t *testing.T) {
	r, hists := mixedFixture(t)
	of := sections(rendered(t, r, hists)["fixture.md"])
	assert.Contains(t, of["Host in the windows"], "| 1 | 1.25 | 0 | 17.0 |"+strings.Repeat(" unknown |", 11)+" 41 |")
	assert.Contains(t, of["Processes"], "| 1 | `server` | 0.900 | 184 | 40 | 90 | unknown | unknown | 20 |", "0 would look like a good figure")
	assert.Contains(t, of["Balance of producers and workers"], "| 1 | `noisy` | 160 | 84.0 | 12.0 | 7.50 | 0.400 |")
	assert.Contains(t, of["Warm-up"], "| 1 | 2.00 | unknown | 3.50 | 0.0200 | yes |")
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
	of := sections(rendered(t, r, hists[:1])["fixture.md"])["Stages of the pipeline"]
	assert.Contains(t, of, "throughput = batch / (inbox + decide + apply + commit_wait + commit + reply) × batches under way ="+
		" 10.0 cycles / (0.250 + 0.125 + 0.125 + 0.500 + 0.875 + 0.125 ms) × 20.0 = 100,000 cycles/s.")
	assert.Contains(t, of, "batches in sequence would have reached 5,000 cycles/s")

	// With Raft, replicating and applying are parts of the commit and must not count twice.
	r.Rounds[0].Stages = append(r.Rounds[0].Stages, result.StageOf("replicate", 50_000, []uint64{100_000}))
	of = sections(rendered(t, r, hists[:1])["fixture.md"])["Stages of the pipeline"]
	assert.Contains(t, of, "10.0 cycles / (0.250 + 0.125 + 0.500 + 0.875 + 0.125 ms)")
	assert.Contains(t, of, "| `replicate` |")
	assert.Contains(t, of, "| in commit |")

	r.Rounds[0].Stages = []result.Stage{{Name: "decide"}}
	of = sections(rendered(t, r, hists[:1])["fixture.md"])["Stages of the pipeline"]
	assert.Contains(t, of, "they do not explain the throughput")
	assert.NotContains(t, of, "NaN")
}

func TestLocksAreNamed(t *testing.T) {
	r, hists := mixedFixture(t)
	page := rendered(t, r, hists)["fixture.md"]
	assert.Contains(t, page, "| `shard.inbox.mu` | mutex | 62.0 % | 18.0 µs | 269.9 % | 123,456 | `shard.(*Inbox).Take` 100.0 % |"+
		" `shard.(*Inbox).Put[go.shape.int\\|uint]` 75.0 %, `main.run` from `lib.Call` 25.0 % |")
	assert.Contains(t, page, "| `runtime.unlock` | runtime | 37.0 % | 10.0 µs | 150.0 % | 0 | unknown | unknown |", "a lock with unknown sides")
	assert.NotContains(t, page, "runtime.sysmon", "0.15 ns are a negligible part of a cycle's 7 µs")
	assert.Contains(t, page, "Not listed: 1 lock with less than 1 % of the time per cycle.")
	assert.Contains(t, page, "- lock `shard.inbox.mu`: 62 % of lock wait is shard.inbox.mu")
	r.Locks[0].Node, r.Locks[0].Point = "n2", 7
	assert.Contains(t, rendered(t, r, hists)["fixture.md"], "| `point 7`, `n2` | `shard.inbox.mu` |")

	r.Locks = r.Locks[2:]
	of := sections(rendered(t, r, hists)["fixture.md"])["Locks"]
	assert.Contains(t, of, "No lock is listed: goroutines waited less than 1 % of the time per cycle for each of 1 lock.")
	assert.NotContains(t, of, "|", "no table")
	r.Metrics = nil
	of = sections(rendered(t, r, hists)["fixture.md"])["Locks"]
	assert.Contains(t, of, "| `runtime.sysmon` | runtime | 1.0 % | 0.150 ns | unknown | 40 |", "all locks are listed if the time per cycle is unknown")
}

func TestProfilesChargeOurOwnFunctions(t *testing.T) {
	r, hists := mixedFixture(t)
	of := sections(rendered(t, r, hists)["fixture.md"])
	assert.Contains(t, of["Where the time went"], "| `example.org/engine/rpc.decode` | 67.9 % | 1.90 GB | 3,600 | `rpc.(*Service).serve` | 1.31 kB |")
	assert.Contains(t, of["Where the time went"], "| `runtime: garbage collection` | 32.1 % | 900 MB | 1,700 |  | 621 B |")
	assert.Contains(t, of["Traces"], "| 3 |  | 4.25 | 131 | 100 | `traces/round-03.trace` |")
}

func TestWorkloadsStandApart(t *testing.T) {
	r, hists := mixedFixture(t)
	page := rendered(t, r, hists)["fixture.md"]
	of := sections(page)
	assert.Contains(t, of["Workloads"], "| `quiet` | 2 | 1,000 (1,000 to 1,000) |")
	assert.Contains(t, of["Arrivals"], "Workload `quiet`: Tasks are due by `burst(1,000/s, 0.5 of the peak, 5s, 1s)`")
	assert.Contains(t, of["Arrivals"], "| 1 | `quiet` | 1,400 | 5,000 | 14,000 | 10,000 |")
	assert.Contains(t, of["Scenario"], "| workload `noisy` | value |")
	assert.Contains(t, of["Scenario"], "| queues are chosen | `zipf` |")
	assert.Contains(t, of["Scenario"], "| payload, bytes | `lognormal(200, 2000), 32 to 4096` |")
	assert.Contains(t, of["What this page does not measure"], "- Workload `noisy`: Open load.")
	assert.Contains(t, of["What this page does not measure"], "- Workload `quiet`: Capacity.")

	r.Verdict = result.Incorrect
	assert.NotContains(t, rendered(t, r, hists)["fixture.md"], "## Workloads", "no figures with a broken ledger")
}

// Optional results have columns only on pages that have them.
func TestLedgerSaysWhatWentAstray(t *testing.T) {
	r, hists := fixture(t, 2, 0)
	assert.NotContains(t, rendered(t, r, hists)["fixture.md"], "isrouted")
	r.Verdict, r.Rounds[1].Verdict = result.Incorrect, result.Incorrect
	r.Rounds[1].Ledger.Misrouted, r.Rounds[1].Ledger.Reordered = 2, 3
	of := sections(rendered(t, r, hists)["fixture.md"])["Ledger"]
	assert.Contains(t, of, "| lost | duplicated | corrupted | misrouted | reordered |")
	assert.Regexp(t, `\| 2 \| .* \| 0 \| 0 \| 0 \| 2 \| 3 \|`, of)
}

func TestLimitsOfServersThatAreNotApart(t *testing.T) {
	r, hists := fixture(t, 1, 0)
	for kind, says := range map[string]string{scenario.Embedded: "Both are one process", scenario.NoTopology: "A server. There is none"} {
		r.Manifest.Scenario = expanded(t, &scenario.Scenario{Topology: scenario.Topology{Kind: kind, Durability: "none"}})
		assert.Contains(t, sections(rendered(t, r, hists)["fixture.md"])["What this page does not measure"], says)
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
	assert.Contains(t, of["Arrivals"], "Tasks are due by `ramp(1,000/s, 80,000/s, 2m)`")
	assert.Contains(t, of["What this page does not measure"], "- Steady load.")
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
	of := sections(rendered(t, r, hists)["fixture.md"])
	assert.Contains(t, of["Attacks"], "| 2 | `long-polls` | 12 | 3 | 2 |")
}

// The page has the number of turns, because a share of few turns shows little.
func TestTurnsAreOnThePage(t *testing.T) {
	r, hists := fixture(t, 2, 1)
	assert.NotContains(t, sections(rendered(t, r, hists)["fixture.md"]), "Turns of the shards", "no section without counts")
	for i := range r.Rounds {
		r.Rounds[i].Turns = &result.Turns{Count: 40_000, Above2Ms: uint64(i), MsMax: 4, ItemsMax: 1_234}
		r.Rounds[i].Derive(hists[i].Histograms)
	}
	var err error
	r.Metrics, err = result.Summarise(r.Rounds, hists, result.OfLoad)
	require.NoError(t, err)
	of := sections(rendered(t, r, hists)["fixture.md"])
	assert.Contains(t, of["Turns of the shards"], "| 2 | 40,000 | 1 | 4.00 | 1,234 |")
	assert.NotContains(t, of["Turns of the shards"], "| 3 |", "a profiled round has no figures")
	assert.Contains(t, of["Summary"], "| `shard_turns_above_2ms_ratio` | 1.25e-05 | 0 | 2.50e-05 | 2 | ratio | part of all turns of the timed rounds; lowest and highest round |")
	assert.Contains(t, of["Summary"], "| `shard_turn_items_max` | 1,234 | 1,234 | 1,234 | 2 | items | largest of all turns of the timed rounds; lowest and highest round |")

	swept, hists := sweptFixture(t)
	for metric, v := range map[string]float64{result.ShardTurnsAbove2MsRatio: 0.125, result.ShardTurnMsMax: 64} {
		swept.Points[0].Metrics[metric] = result.Metric{Median: v, Low: v, High: v, N: 1}
	}
	assert.Contains(t, sections(rendered(t, swept, hists)["fixture.md"])["Points"], "| turns above 2 ms | turn at most, ms |")
}

// The window of loss is on the page, with its durability.
func TestTheWindowOfLossIsOnThePage(t *testing.T) {
	r, hists := fixture(t, 2, 1)
	assert.NotContains(t, sections(rendered(t, r, hists)["fixture.md"]), "Window of loss", "no section without counts")
	for i := range r.Rounds {
		r.Rounds[i].LossWindow = &result.LossWindow{
			Tasks: result.PeaksOf([]result.Peak{{UpTo: 1_024, Count: 199}, {UpTo: 4_096, Count: uint64(i)}}), Ms: result.PeaksOf([]result.Peak{{UpTo: 12.8, Count: 200}}),
		}
		r.Rounds[i].Derive(hists[i].Histograms)
	}
	var err error
	r.Metrics, err = result.Summarise(r.Rounds, hists, result.OfLoad)
	require.NoError(t, err)
	page := rendered(t, r, hists)["fixture.md"]
	assert.Contains(t, page, "## Window of loss, durability `none`\n")
	of := sections(page)
	assert.Contains(t, of["Window of loss"], "| 2 | 200 | 1,024 | 4,096 | 12.8 | 12.8 |")
	assert.NotContains(t, of["Window of loss"], "| 3 |", "a profiled round has no figures")
	assert.Contains(t, of["Summary"], "| `unsynced_tasks_max` | 4,096 | 1,024 | 4,096 | 2 | tasks | highest of all peaks of the timed rounds; lowest and highest round |")
	assert.Contains(t, of["Summary"], "| `unsynced_ms_p99` | 12.8 | 12.8 | 12.8 | 2 | ms | percentile of all peaks of the timed rounds; lowest and highest round |")

	swept, hists := sweptFixture(t)
	swept.Points[0].Metrics[result.UnsyncedTasksMax] = result.Metric{Median: 64, Low: 64, High: 64, N: 1}
	assert.Contains(t, sections(rendered(t, swept, hists)["fixture.md"])["Points"], "| unsynced at most, tasks |")
}

// The page derives the limiting resource of a run without a stored one, if the figures allow it.
func TestPageFindsWhatARunIsBoundBy(t *testing.T) {
	section := func(change func(*result.Result)) string {
		r, hists := fixture(t, 2, 0)
		change(r)
		written, err := report.Render(nil, stored(t, r, hists), t.TempDir())
		require.NoError(t, err)
		_, text, _ := strings.Cut(contents(t, written)["fixture.md"], "## What limits the rate")
		return text
	}
	assert.Contains(t, section(func(*result.Result) {}), "Unknown: no measured resource is saturated", "CPUs are left, and the result has no stages")
	assert.Empty(t, section(func(r *result.Result) {
		for i := range r.Rounds {
			r.Rounds[i].Cycles = 0
		}
	}), "no rate")
	assert.Contains(t, section(func(r *result.Result) { r.Manifest.Scenario.Topology.Procs = 1 }),
		"- bound by server CPU: the servers keep 0.87 of 1 CPU busy")
	assert.Contains(t, section(func(r *result.Result) {
		r.Manifest.Scenario.Topology.Procs, r.Bound = 1, &result.Bound{By: result.BoundLock, Sentence: "bound by lock: as it was measured"}
	}), "- bound by lock: as it was measured")
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
	of := sections(files["fixture.md"])["Slow commits"]
	assert.Contains(t, of, "took more than 5.00 ms")
	assert.Contains(t, of, "| `rotation` | Pebble switched to a new log | 2 | 60.0 |")
	assert.Contains(t, of, "| 2 | 1.00 | 20.0 | `3` | 7 | rotation 20.0 | – |")
	assert.Contains(t, of, "| 2 | 2.50 | 70.0 | `n1/0` | 0 | rotation 40.0, flush 30.0 | flush 65.0 ms, 1 collection, longest wait for a processor 12.0 ms |")
	assert.Contains(t, files["fixture-stalls.svg"], "a flush ran")
	assert.Contains(t, files["fixture-stalls.svg"], "a compaction ran")
}

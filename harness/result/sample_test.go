package result_test

import (
	"math"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

var sampleStart = time.Date(2026, 11, 21, 17, 15, 0, 123_000_000, time.UTC)

// sampleHistograms returns histograms of n latencies around the given milliseconds.
func sampleHistograms(t require.TestingT, round int, n int, ms float64) result.RoundHistograms {
	h := result.NewHistograms()
	for i := range n {
		ns := int64(ms * 1e6 * (1 + float64(i)/float64(n)))
		require.NoError(t, h.Enqueue.RecordValue(ns/4))
		require.NoError(t, h.Settle.RecordValue(ns/2))
		require.NoError(t, h.Cycle.RecordValue(ns))
	}
	return result.RoundHistograms{Round: round, Histograms: h}
}

// sampleRounds returns timed rounds followed by a profiled one, derived, with their histograms.
func sampleRounds(t require.TestingT, timed int) ([]result.Round, []result.RoundHistograms) {
	var rounds []result.Round
	var hists []result.RoundHistograms
	for number := 1; number <= timed+1; number++ {
		r := result.Round{
			Number: number, Profiled: number > timed, Verdict: result.Pass,
			Started: sampleStart.Add(time.Duration(number) * time.Minute), WindowSeconds: 10,
			Cycles: uint64(1_000_000 + 10_000*number),
			Metrics: map[string]float64{
				result.ServerCPUUsPerCycle:    9 + float64(number)/10,
				result.ClientCPUUsPerCycle:    5,
				result.ServerSwitchesPerCycle: 0.5,
				result.ClientSwitchesPerCycle: 0.25,
				result.ServerRSSMBMax:         200,
				result.ServerCPUCores:         0.9,
			},
			Ledger: result.Ledger{Enqueued: 1_200_000, Completed: 1_200_000},
		}
		h := sampleHistograms(t, number, 1000*number, float64(number))
		r.Derive(h.Histograms)
		rounds, hists = append(rounds, r), append(hists, h)
	}
	return rounds, hists
}

// sampleResult returns a run of seven timed rounds and a profiled one.
func sampleResult(t require.TestingT) (*result.Result, []result.RoundHistograms) {
	rounds, hists := sampleRounds(t, 7)
	metrics, err := result.Summarise(rounds, hists, result.OfLoad)
	require.NoError(t, err)
	return &result.Result{
		Version: result.Version, Run: result.NewID(sampleStart, "full-cycle"), Scenario: "full-cycle",
		Title: "A sample", Started: sampleStart, Finished: sampleStart.Add(time.Hour), Verdict: result.Pass,
		Manifest: result.Manifest{
			Command: []string{"prony", "run", "scenarios/full-cycle.hcl"},
			Scenario: scenario.Scenario{
				Topology: scenario.Topology{Durability: "none", Shards: 1},
				Captures: []scenario.Capture{{Kind: "mutex"}},
			},
			Host:  result.Host{OS: "linux", Arch: "amd64", CPUModel: "Sample CPU", CPUs: 2, GOMAXPROCS: 2, Kernel: "6.1"},
			Build: result.Build{GoVersion: "go1.26", Commit: "0123abcd", Dirty: true},
		},
		Rounds: rounds, Metrics: metrics,
		Profiles: []result.Profile{{Kind: "mutex", File: "mutex.pb.gz", Unit: "nanoseconds", Total: 5e9, Top: []result.ProfileEntry{
			{Function: "sync.(*Mutex).Unlock", Flat: 4e9, Cum: 5e9, Share: 0.8},
		}}},
	}, hists
}

// infinite are the numbers that no result may contain.
var infinite = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}

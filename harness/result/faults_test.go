package result_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

func TestMetricsOfFaults(t *testing.T) {
	r := result.Round{Faults: &result.Faults{BaselinePerS: 100, FailedCalls: 3, Events: []result.Fault{
		{FirstAckMs: 900, RecoveryMs: 1000, Recovered: true, BackSoon: new(true), DipPercent: 100, LevelPerS: 100},
		{FirstAckMs: 0, RecoveryMs: 0, Recovered: true, BackSoon: new(true), DipPercent: 10},
		{FirstAckMs: 1200, RecoveryMs: 5000, BackSoon: new(false), DipPercent: 40, LevelPerS: 60},
		{FirstAckMs: 1000, RecoveryMs: 2000, Recovered: true, BackSoon: new(false), DipPercent: 60, LevelPerS: 80},
	}}}
	r.Derive(result.NewHistograms())
	for name, want := range map[string]float64{
		"fault_first_ack_ms_median": 950, "fault_first_ack_ms_max": 1200,
		"fault_recovery_ms_median": 1000, "fault_recovery_ms_max": 2000, // of the three that it recovered from
		"fault_dip_percent": 50, "not_recovered": 1, "failed_calls": 3, "fault_level_ratio": 0.7,
		"fault_last_to_first_ratio": 0.8, "back_at_95_percent_in_1s": 2,
	} {
		assert.InDelta(t, want, r.Metrics[name], 1e-9, name)
		spec, known := result.Lookup(name)
		require.True(t, known, name)
		assert.Equal(t, result.OfFaults, spec.Part)
		assert.True(t, spec.Zero, "%s: 0 is a measurement", name)
		assert.Equal(t, strings.HasSuffix(name, "_ratio") || strings.HasPrefix(name, "back_"), spec.Better == result.Higher, name)
	}
	for _, none := range []*result.Faults{nil, {}} {
		r := result.Round{Faults: none}
		r.Derive(result.NewHistograms())
		assert.NotContains(t, r.Metrics, "failed_calls", "a fault that did not happen has no figures")
	}
}

// The last tenth of the faults is compared with the first tenth.
func TestLastToFirst(t *testing.T) {
	var f result.Faults
	for i := range 50 {
		f.Events = append(f.Events, result.Fault{LevelPerS: float64(1000 - i)})
	}
	f.Events[0].LevelPerS, f.Events[49].LevelPerS = 9999, 0 // one rate does not decide
	assert.InDelta(t, 953.0/998, f.LastToFirst(), 1e-9)
	f.Events = f.Events[:1]
	assert.True(t, math.IsNaN(f.LastToFirst()), "there is no other fault")
	f.Events = []result.Fault{{}, {LevelPerS: 1}}
	assert.True(t, math.IsNaN(f.LastToFirst()), "no rate after the first fault")
}

// Results of earlier builds do not say after which faults the load was back soon.
func TestFaultsOfEarlierBuildsAreNotBackSoon(t *testing.T) {
	r := result.Round{Faults: &result.Faults{BaselinePerS: 1, Events: []result.Fault{{BackSoon: new(true)}, {}}}}
	r.Derive(result.NewHistograms())
	assert.NotContains(t, r.Metrics, result.FaultsBackSoon)
}

func TestTimeOfARecoveryThatDidNotComeIsMissing(t *testing.T) {
	r := result.Round{Faults: &result.Faults{Events: []result.Fault{{RecoveryMs: 5990}, {RecoveryMs: 5970}}}}
	r.Derive(result.NewHistograms())
	assert.NotContains(t, r.Metrics, "fault_recovery_ms_median")
	assert.InDelta(t, 2, r.Metrics["not_recovered"], 0)
	n, watched := r.Faults.NotRecovered()
	assert.Equal(t, 2, n)
	assert.InDelta(t, 5970, watched, 0)
}

// The faults of all rounds are judged together: no median of medians is taken, and one fault without recovery counts.
func TestFaultsOfRoundsAreMerged(t *testing.T) {
	round := func(number int, events ...result.Fault) result.Round {
		r := result.Round{Number: number, Faults: &result.Faults{BaselinePerS: 1, Events: events}}
		r.Derive(result.NewHistograms())
		return r
	}
	back := func(ms float64) result.Fault {
		return result.Fault{FirstAckMs: ms, RecoveryMs: ms, Recovered: true, LevelPerS: 1}
	}
	metrics, _ := result.Summarise([]result.Round{
		round(1, back(100)), round(2, result.Fault{RecoveryMs: 5000, LevelPerS: 1}), round(3, back(200), back(300), back(400), back(500)),
	}, nil, result.OfFaults)
	recovery := metrics["fault_recovery_ms_median"]
	assert.InDelta(t, 300, recovery.Median, 0, "of five recoveries; that of the rounds' medians would be 225")
	assert.InDelta(t, 100, recovery.Low, 0)
	assert.InDelta(t, 350, recovery.High, 0)
	assert.Equal(t, 2, recovery.N)
	assert.InDelta(t, 1, metrics["not_recovered"].Median, 0)
	assert.Equal(t, 3, metrics["not_recovered"].N)
	assert.InDelta(t, 500, metrics["fault_first_ack_ms_max"].Median, 0)

	metrics, err := result.Summarise([]result.Round{round(1, result.Fault{RecoveryMs: 5000})}, nil, result.OfFaults)
	assert.NotContains(t, metrics, "fault_recovery_ms_median")
	assert.NotContains(t, err.Error(), "fault_recovery", "not_recovered says so")
}

func TestLevelAfterFaults(t *testing.T) {
	f := result.Faults{BaselinePerS: 1000}
	for _, level := range []float64{950, 900, 700, 600, 400, 300, 200} {
		f.Events = append(f.Events, result.Fault{LevelPerS: level})
	}
	share, faults := f.Level()
	assert.InDelta(t, 0.3, share, 1e-9)
	assert.Equal(t, 3, faults)
	share, faults = (&result.Faults{BaselinePerS: 1000}).Level()
	assert.True(t, math.IsNaN(share))
	assert.Zero(t, faults)
}

// What an earlier build stored of a leader that was killed: counts since the node's last start over all cycles, and the times to
// the next fault as times of recovery.
func TestFormerFiguresOfFaultsAreCorrected(t *testing.T) {
	r, hists := sampleResult(t)
	folder, err := result.Create(t.TempDir(), r.Run)
	require.NoError(t, err)
	ofCounters := []string{"storage_sets_per_cycle", "server_allocs_per_cycle", "raft_elections", "raft_entries_per_cycle", "raft_log_bytes_per_cycle"}
	for i := range r.Rounds {
		round := &r.Rounds[i]
		round.Faults = &result.Faults{BaselinePerS: 1000, Events: []result.Fault{
			{Kind: "kill", Nodes: []string{"n1"}, RecoveryMs: 1500, Recovered: true, AfterPerS: 900},
			{Kind: "kill", Nodes: []string{"n1"}, RecoveryMs: 5990, AfterPerS: 240},
			{Kind: "pause", Nodes: []string{"n2"}, RecoveryMs: 5990, AfterPerS: 240},
		}}
		node := func(id string) result.Node {
			n := result.Node{ID: id, Metrics: map[string]float64{"server_cpu_cores": 1}}
			for _, name := range ofCounters {
				n.Metrics[name] = 0.0312
			}
			return n
		}
		round.Nodes = []result.Node{node("n1"), node("n2")}
		for _, name := range append(ofCounters, "fault_recovery_ms_median", "fault_recovery_ms_max", "faults_unrecovered") {
			round.Metrics[name] = 0.0312
			r.Metrics[name] = result.Metric{Median: 0.0312, N: 1}
		}
	}
	require.NoError(t, folder.Store(r, hists))

	got, _, err := result.Read(folder.Path())
	require.NoError(t, err)
	round := got.Rounds[0]
	for _, metrics := range []map[string]float64{round.Metrics, round.Nodes[0].Metrics} {
		for _, name := range ofCounters {
			assert.NotContains(t, metrics, name)
		}
	}
	assert.Contains(t, round.Nodes[0].Metrics, "server_cpu_cores")
	assert.Contains(t, round.Nodes[1].Metrics, "storage_sets_per_cycle", "it lived through the window")
	for _, name := range ofCounters {
		assert.NotContains(t, got.Metrics, name)
	}
	assert.NotContains(t, got.Metrics, "faults_unrecovered")
	assert.InDelta(t, 1500, got.Metrics["fault_recovery_ms_median"].Median, 0)
	assert.InDelta(t, 1500, got.Metrics["fault_recovery_ms_max"].Median, 0)
	timed := float64(got.Metrics["cycles_per_s"].N)
	assert.InDelta(t, 2*timed, got.Metrics["not_recovered"].Median, 0)
	assert.InDelta(t, 0.24, got.Metrics["fault_level_ratio"].Median, 1e-9)
	decay := "the rate did not come back: after the last fault it was 240 cycles/s, 24 % of the 1000 before the first fault; the least is 70 %"
	assert.Equal(t, result.Regressed, round.Verdict)
	assert.Contains(t, round.Reasons, decay)
	assert.Equal(t, result.Regressed, got.Verdict)
	assert.Contains(t, got.Reasons, "round 1: "+decay)
	assert.InDelta(t, 0.95, round.Faults.RecoveredShare, 0)
	assert.InDelta(t, 1000, round.Faults.Events[1].BeforePerS, 0)
}

func TestFaultsAreFinite(t *testing.T) {
	r, hists := sampleResult(t)
	folder, err := result.Create(t.TempDir(), r.Run)
	require.NoError(t, err)
	r.Rounds[0].Faults = &result.Faults{Events: []result.Fault{{RecoveryMs: math.NaN()}}}
	require.ErrorContains(t, folder.Store(r, hists), "faults.events[0].recovery_ms is NaN")
}

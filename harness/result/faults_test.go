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
		"fault_recovery_ms_median": 1000, "fault_recovery_ms_max": 2000, // of the three recoveries
		"fault_dip_percent": 50, "not_recovered": 1, "failed_calls": 3, "fault_level_ratio": 0.7,
		"fault_last_to_first_ratio": 0.8, "back_at_95_percent_in_1s": 2,
	} {
		assert.InDelta(t, want, r.Metrics[name], 1e-9, name)
		spec, known := result.Lookup(name)
		require.True(t, known, name)
		assert.Equal(t, result.OfFaults, spec.Part)
		assert.True(t, spec.Zero, "%s: 0 is a valid value", name)
		assert.Equal(t, strings.HasSuffix(name, "_ratio") || strings.HasPrefix(name, "back_"), spec.Better == result.Higher, name)
	}
	for _, none := range []*result.Faults{nil, {}} {
		r := result.Round{Faults: none}
		r.Derive(result.NewHistograms())
		assert.NotContains(t, r.Metrics, "failed_calls", "a round without faults has no figures of them")
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
	assert.True(t, math.IsNaN(f.LastToFirst()), "there is only one fault")
	f.Events = []result.Fault{{}, {LevelPerS: 1}}
	assert.True(t, math.IsNaN(f.LastToFirst()), "no rate after the first fault")
}

// Results of earlier builds lack BackSoon, so they have no faults_back_soon metric.
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

// An outage that did not end has no first cycle after it. Only faults with a first cycle count.
func TestTimeOfAFirstCycleThatDidNotComeIsMissing(t *testing.T) {
	r := result.Round{Faults: &result.Faults{Events: []result.Fault{{FirstAckMs: 5990, Silent: true, RecoveryMs: 5990}}}}
	r.Derive(result.NewHistograms())
	assert.NotContains(t, r.Metrics, "fault_first_ack_ms_median")
	assert.NotContains(t, r.Metrics, "fault_first_ack_ms_max")
	r.Faults.Events = append(r.Faults.Events, result.Fault{FirstAckMs: 120, RecoveryMs: 120, Recovered: true})
	r.Derive(result.NewHistograms())
	assert.InDelta(t, 120, r.Metrics["fault_first_ack_ms_max"], 0)
	assert.InDelta(t, 1, r.Metrics["not_recovered"], 0)
}

// The faults of all rounds are judged together, without a median of medians, and one fault without
// recovery counts.
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
	assert.InDelta(t, 300, recovery.Median, 0, "the median of five recoveries; the median of the rounds' medians would be 225")
	assert.InDelta(t, 100, recovery.Low, 0)
	assert.InDelta(t, 350, recovery.High, 0)
	assert.Equal(t, 2, recovery.N)
	assert.InDelta(t, 1, metrics["not_recovered"].Median, 0)
	assert.Equal(t, 3, metrics["not_recovered"].N)
	assert.InDelta(t, 500, metrics["fault_first_ack_ms_max"].Median, 0)

	metrics, err := result.Summarise([]result.Round{round(1, result.Fault{RecoveryMs: 5000})}, nil, result.OfFaults)
	assert.NotContains(t, metrics, "fault_recovery_ms_median")
	assert.NotContains(t, err.Error(), "fault_recovery", "not_recovered reports it")
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

func TestFaultsAreFinite(t *testing.T) {
	r, hists := sampleResult(t)
	folder, err := result.Create(t.TempDir(), r.Run)
	require.NoError(t, err)
	r.Rounds[0].Faults = &result.Faults{Events: []result.Fault{{RecoveryMs: math.NaN()}}}
	require.ErrorContains(t, folder.Store(r, hists), "faults.events[0].recovery_ms is NaN")
}

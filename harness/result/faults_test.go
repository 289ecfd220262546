package result_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

func TestMetricsOfFaults(t *testing.T) {
	r := result.Round{Faults: &result.Faults{FailedCalls: 3, Events: []result.Fault{
		{FirstAckMs: 900, RecoveryMs: 1000, Recovered: true, DipPercent: 100},
		{FirstAckMs: 0, RecoveryMs: 0, Recovered: true, DipPercent: 10},
		{FirstAckMs: 1200, RecoveryMs: 5000, DipPercent: 40},
		{FirstAckMs: 1000, RecoveryMs: 2000, Recovered: true, DipPercent: 60},
	}}}
	r.Derive(result.NewHistograms())
	for name, want := range map[string]float64{
		"fault_first_ack_ms_median": 950, "fault_first_ack_ms_max": 1200,
		"fault_recovery_ms_median": 1500, "fault_recovery_ms_max": 5000,
		"fault_dip_percent": 50, "faults_unrecovered": 1, "failed_calls": 3,
	} {
		assert.InDelta(t, want, r.Metrics[name], 1e-9, name)
		spec, known := result.Lookup(name)
		require.True(t, known, name)
		assert.Equal(t, result.OfFaults, spec.Part)
		assert.True(t, spec.Zero, "%s: 0 is what one hopes for", name)
		assert.Equal(t, result.Lower, spec.Better)
	}
	for _, none := range []*result.Faults{nil, {}} {
		r := result.Round{Faults: none}
		r.Derive(result.NewHistograms())
		assert.NotContains(t, r.Metrics, "failed_calls", "a fault that did not happen has no figures")
	}
}

func TestFaultsAreFinite(t *testing.T) {
	r, hists := sampleResult(t)
	folder, err := result.Create(t.TempDir(), r.Run)
	require.NoError(t, err)
	r.Rounds[0].Faults = &result.Faults{Events: []result.Fault{{RecoveryMs: math.NaN()}}}
	require.ErrorContains(t, folder.Store(r, hists), "faults.events[0].recovery_ms is NaN")
}

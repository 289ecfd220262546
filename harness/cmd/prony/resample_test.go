package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
)

// ofBaseline limits the rate of the scenario tiny to 90 % of the baseline build's.
const ofBaseline = `
baseline "tiny" {
  floor "cycles_per_s" {
    of_baseline = 0.9
    because     = "noise"
  }
}
`

// guardDuet returns a duet of the scenario tiny with two generations. rate is the change's rate
// relative to the base's.
func guardDuet(rate float64) *result.Duet {
	d := &result.Duet{Version: result.DuetVersion, Scenario: "tiny"}
	for n := range 2 {
		g := result.Generation{Number: n + 1, Verdict: result.Pass}
		for side, s := range []float64{1, 1 / rate} {
			g.Sides[side] = result.GenerationSide{Cycles: 1000, ActiveS: s, ServerCPUNs: 1e6, Ledger: result.Ledger{Enqueued: 1000, Completed: 1000}}
		}
		d.Generations = append(d.Generations, g)
	}
	return d
}

func storeDuet(t *testing.T, name string, d *result.Duet) {
	t.Helper()
	folder := filepath.Join("runs", name)
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, result.WriteDuet(folder, d))
}

func TestResampleDrawsFromStoredGuards(t *testing.T) {
	inFolder(t)
	write(t, "baselines/tiny.hcl", ofBaseline)
	storeDuet(t, "1-compare-tiny", guardDuet(1))
	s := sheet(t)
	s.Equal(t, "of a sound guard", prony(t, "gate", "resample", "--sets", "20", "runs").stdout)

	storeDuet(t, "2-compare-tiny", guardDuet(0.5))
	got := prony(t, "gate", "resample", "--sets", "20", "--json", "runs")
	assert.Zero(t, got.code)
	var r gate.Resampled
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &r))
	assert.Positive(t, r.NotPassed)
	assert.Equal(t, 4, r.Scenarios[0].Generations)
}

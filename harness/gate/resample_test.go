package gate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
)

var guardPlan = gate.ResamplePlan{Sets: 200, PerLook: 2, Looks: 6, Seed: 3}

func duetLimits(t *testing.T) *gate.Baselines {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "duet.hcl"), []byte(`
baseline "duet" {
  floor "cycles_per_s" {
    of_baseline = 0.93
    because     = "noise"
  }
}
`), 0o600))
	b, err := gate.LoadBaselines(dir)
	require.NoError(t, err)
	return b
}

// measuredDuets simulates n short duets of builds whose rate differs by loss.
func measuredDuets(n int, loss float64) (duets []*result.Duet) {
	random := seeded(46)
	for range n {
		duets = append(duets, simulated(random, 4, quietHost, losses{rate: loss}))
	}
	return duets
}

func TestResampleCountsSetsThatDoNotPass(t *testing.T) {
	limits := duetLimits(t)
	equal, err := gate.Resample(limits, measuredDuets(6, 0), guardPlan)
	require.NoError(t, err)
	assert.Equal(t, 200, equal.Sets)
	assert.Zero(t, equal.NotPassed)
	require.Len(t, equal.Scenarios, 1)
	s := equal.Scenarios[0]
	assert.Equal(t, 24, s.Generations)
	assert.Equal(t, 200, s.Verdicts[result.Pass])
	assert.Empty(t, s.Reason)
	assert.GreaterOrEqual(t, s.Drawn, 400, "two generations at least")
	assert.Less(t, s.Drawn, 200*12, "more only while a ratio is undecided")

	slower, err := gate.Resample(limits, measuredDuets(6, 0.15), guardPlan)
	require.NoError(t, err)
	assert.Equal(t, 200, slower.NotPassed)
	assert.Contains(t, slower.Scenarios[0].Reason, "where the floor is 0.93")

	again, err := gate.Resample(limits, measuredDuets(6, 0.15), guardPlan)
	require.NoError(t, err)
	assert.Equal(t, slower, again, "the same seed draws the same sets")
}

// A set counts as failed once, even if several of its scenarios fail.
func TestResampleCountsASetOnce(t *testing.T) {
	slow := measuredDuets(3, 0.2)
	broken := measuredDuets(3, 0)
	for _, d := range broken {
		d.Scenario = "another"
		d.Work = &result.FixedWork{Cycles: 100, Counters: map[string][2]float64{result.WorkStorageSets: {300, 400}}}
	}
	r, err := gate.Resample(duetLimits(t), append(slow, broken...), guardPlan)
	require.NoError(t, err)
	assert.Equal(t, 200, r.NotPassed)
	require.Len(t, r.Scenarios, 2)
	assert.Equal(t, "another", r.Scenarios[0].Scenario)
	assert.Equal(t, 200, r.Scenarios[0].Verdicts[result.Regressed], "the fixed work of a duet is judged with it")
}

func TestResampleNeedsGenerations(t *testing.T) {
	_, err := gate.Resample(duetLimits(t), []*result.Duet{simulated(seeded(1), 1, quietHost, losses{})}, guardPlan)
	require.ErrorContains(t, err, "draw from duet: 1 generations count, but one look needs 2: measure it again")
}

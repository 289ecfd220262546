package scenario

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

const limits = valid + `
  sweep "workload.main.workers" { values = [1, 2] }
  limit "cycles_per_s" {
    min      = 2
    observed = 3
    on       = "a host"
    because  = "slow"
  }
  limit "cycles_per_s" { min = 1.5  point = "workers=2"  relative_to_point = "workers=1"  because = "scales" }
  limit "dropped" { max = 0  because = "none"  unobserved = "was not measured" }
  limit "enqueues_per_s" { of_baseline = 0.9  because = "noise" }
}
`

func TestLimits(t *testing.T) {
	all, err := parse("a.hcl", []byte(limits), nil)
	require.NoError(t, err)
	want := []Limit{
		{Metric: "cycles_per_s", Min: new(2.0), Observed: 3, On: "a host", Because: "slow", Where: "a.hcl:12:3"},
		{Metric: "cycles_per_s", Min: new(1.5), Point: "workers=2", RelativeToPoint: "workers=1", Because: "scales", Where: "a.hcl:18:3"},
		{Metric: "dropped", Max: new(0.0), Because: "none", Unobserved: "was not measured", Where: "a.hcl:19:3"},
		{Metric: "enqueues_per_s", OfBaseline: new(0.9), Because: "noise", Where: "a.hcl:20:3"},
	}
	assert.Equal(t, want, all[0].Limits)
	var names, bounds []string
	for _, l := range all[0].Limits {
		names, bounds = append(names, l.Name()), append(bounds, l.Bound())
	}
	assert.Equal(t, []string{"cycles_per_s", "workers=2: cycles_per_s", "dropped", "enqueues_per_s of the baseline build"}, names)
	assert.Equal(t, []string{"at least 2", "at least 1.5 times that of workers=1", "at most 0", "0.9 times that of the baseline build"}, bounds)

	encoded, err := json.Marshal(all[0])
	require.NoError(t, err)
	var again Scenario
	require.NoError(t, json.Unmarshal(encoded, &again))
	assert.Equal(t, want, again.Limits, "a stored scenario includes its limits")
}

// Limits are not settings: they appear neither in pages nor in comparisons nor in the
// configuration.
func TestLimitsAreNoSettings(t *testing.T) {
	with, err := parse("a.hcl", []byte(limits), nil)
	require.NoError(t, err)
	without, err := parse("a.hcl", []byte(limits), nil)
	require.NoError(t, err)
	without[0].Limits = nil
	assert.Equal(t, without[0].Configuration(), with[0].Configuration())
	assert.Equal(t, without[0].Settings(), with[0].Settings())
	assert.Empty(t, Differences(without[0], with[0]))
}

// The caller's check of limits runs in the same pass, once for each limit, independent of sweeps.
func TestCheckOfLimits(t *testing.T) {
	var checked []string
	l := loader{names: map[string]string{}, checks: Checks{Limit: func(b *hclfile.Block) {
		checked = append(checked, b.Label())
		assert.Equal(t, "limit", b.Type())
		if b.Label() == "dropped" {
			b.LabelProblem("dropped is out of fashion", "")
		}
	}}}
	l.file("a.hcl", l.reader.Source("a.hcl", []byte(limits), fileNames))
	_, err := l.finish()
	assert.Equal(t, []string{"cycles_per_s", "cycles_per_s", "dropped", "enqueues_per_s"}, checked)
	golden.Text(t, "testdata/checkedlimit.golden", err.Error()+"\n")
}

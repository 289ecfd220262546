package gate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

const foreignLimits = `
baseline "tiny" {
  floor "cycles_per_s" {
    min                     = 100
    foreign_cpu_percent_max = 10
    because                 = "it does that alone"
  }
  ceiling "server_cpu_us_per_cycle" {
    max     = 5
    because = "it costs that"
  }
}
`

// A limit that is for a quiet host is not judged beside a neighbour, and the others are.
func TestLimitForAQuietHost(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tiny.hcl"), []byte(foreignLimits), 0o600))
	limits, err := LoadBaselines(dir)
	require.NoError(t, err)
	for _, c := range []struct {
		name    string
		foreign []*float64 // of three timed rounds, and of a profiled one
		cpu     float64
		verdict result.Verdict
		judged  bool
		says    string
	}{
		{"quiet", []*float64{new(1.0), new(2.0), new(90.0), new(90.0)}, 4, result.Regressed, true, "is below the floor 100"},
		{"just quiet", []*float64{new(10.0), new(10.0), new(90.0), nil}, 4, result.Regressed, true, "is below the floor 100"},
		{"busy", []*float64{new(1.0), new(33.0), new(90.0), new(1.0)}, 4, result.Pass, false, "cycles_per_s is not judged: other processes used 33 % of the CPUs meanwhile, and the floor is for 10 % at most"},
		{"busy, and a cycle costs more", []*float64{new(33.0), new(33.0), new(33.0), nil}, 6, result.Regressed, false, "is not judged"},
		{"unknown", []*float64{nil, nil, nil, nil}, 4, result.Regressed, true, "is below the floor 100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &result.Result{
				Version: result.Version, Scenario: "tiny", Verdict: result.Pass,
				Metrics: map[string]result.Metric{
					result.CyclesPerS: {Median: 60, Low: 60, High: 60, N: 3}, result.ServerCPUUsPerCycle: {Median: c.cpu, Low: c.cpu, High: c.cpu, N: 3},
					result.Lost: {N: 3}, result.Duplicated: {N: 3}, result.Corrupted: {N: 3},
				},
			}
			for i, foreign := range c.foreign {
				r.Rounds = append(r.Rounds, result.Round{Number: i + 1, Verdict: result.Pass, Profiled: i == 3, Signals: &result.Signals{ForeignCPUPercent: foreign}})
			}
			judged := Check(limits, r)
			assert.Equal(t, c.verdict, judged.Verdict, judged.Reasons)
			assert.Equal(t, c.judged, judged.Findings[0].Judged)
			assert.False(t, judged.Findings[0].OK)
			assert.Contains(t, judged.Findings[0].Sentence, c.says)
		})
	}
}

package gate_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

// slowing is steady.hcl with a window of a fiftieth of the length and the same number of samples.
const slowing = `scenario "steady" {
  topology "single" {
    durability = "none"
    procs      = 1
  }
  workload "main" {
    driver    = "stream"
    procs     = 1
    producers = 32
    workers   = 128
    batch     = 64
    in_flight = 16384
  }
  phases {
    window = "12s"
    drain  = "60s"
  }
  series { every = "40ms" }
  rounds = 1
  validity {
    trend_percent_max = "any"
    on_breach         = "warn"
  }
}
`

// A server that becomes slower with each task loses more than the baseline allows, and the gate
// detects it. Each task takes 10,000 more steps, about 10 us, after each second. At the end the
// server has a twentieth of its rate, which no host noise hides.
func TestAPlantedDecayIsCalled(t *testing.T) {
	longtest.Only(t)
	faulty, err := buildtest.Program("queued-planted", "engine/cmd/queued", "-tags", "planted")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "steady.hcl")
	require.NoError(t, os.WriteFile(file, []byte(slowing), 0o600))
	scenarios, err := scenario.Load(file)
	require.NoError(t, err)
	t.Setenv("PRONY_PLANTED", "decay:600000")
	r, _, err := run.Execute(context.Background(), scenarios[0], run.Options{Out: t.TempDir(), Server: faulty})
	require.NoError(t, err)
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	text, err := os.ReadFile(filepath.Join("..", "..", "baselines", "steady.hcl"))
	require.NoError(t, err)
	// The limits without the configuration, because the window has another length.
	dir := t.TempDir()
	text = regexp.MustCompile(`configuration += "\w+"`).ReplaceAll(text, nil)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "steady.hcl"), text, 0o600))
	baselines, err := gate.LoadBaselines(dir)
	require.NoError(t, err)
	report := gate.Check(baselines, r)
	assert.Equal(t, result.Regressed, report.Verdict)
	for _, f := range report.Findings {
		if f.Metric == result.DecayPercent {
			t.Log(f.Sentence)
			assert.False(t, f.OK)
			assert.False(t, f.Inconclusive, "the decay must be regressed, not only inconclusive: %s", f.Sentence)
		}
	}
}

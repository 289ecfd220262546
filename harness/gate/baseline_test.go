package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// baselines loads a folder with one file of the given text.
func baselines(t *testing.T, src string) (*Baselines, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "one.hcl"), []byte(src), 0o644))
	return LoadBaselines(dir)
}

func TestLoadBaselines(t *testing.T) {
	b, err := baselines(t, `
baseline "full-cycle" {
  ceiling "cycle_latency_ms_p99" { max = 250.5  because = "a stall" }
  ceiling "lost" { max = 0  because = "nothing acknowledged is lost" }
  floor "cycles_per_s" {
    min      = 20000
    observed = 180000
    on       = "2 cores, shared"
    because  = "a tenth"
  }
}
baseline "other" {
  floor "cycles_per_s" { min = 0.5  because = "slow" }
}
`)
	require.NoError(t, err)
	full, ok := b.For("full-cycle")
	require.True(t, ok)
	assert.Equal(t, "one.hcl", filepath.Base(full.File))
	assert.Equal(t, []Limit{
		{Metric: "cycles_per_s", Kind: Floor, Value: 20000, Observed: 180000, On: "2 cores, shared", Because: "a tenth"},
		{Metric: "cycle_latency_ms_p99", Kind: Ceiling, Value: 250.5, Because: "a stall"},
		{Metric: "lost", Kind: Ceiling, Value: 0, Because: "nothing acknowledged is lost"},
	}, full.Limits)
	_, ok = b.For("other")
	assert.True(t, ok)
	_, ok = b.For("unknown")
	assert.False(t, ok)
}

// One error reports all problems in a folder of baselines.
func TestLoadBaselinesDiagnostics(t *testing.T) {
	b, err := LoadBaselines("testdata/bad")
	require.Nil(t, b)
	var d *hclfile.Diagnostics
	require.ErrorAs(t, err, &d)
	golden.Text(t, "testdata/limits.golden", filepath.ToSlash(err.Error())+"\n")
}

func TestFoldersThatAreNotBaselines(t *testing.T) {
	s, dir := golden.Cases(t, "testdata/folders.golden"), t.TempDir()
	s.Replace(dir, "FOLDER")
	_, err := LoadBaselines(filepath.Join(dir, "absent"))
	s.Error(t, "absent", err)
	_, err = LoadBaselines(dir)
	s.Error(t, "empty", err)
	src := []byte("baseline \"smoke\" {\n  floor \"cycles_per_s\" { min = 1  because = \"x\" }\n}\n")
	for _, name := range []string{"a.hcl", "b.hcl", "README.md"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), src, 0o644))
	}
	_, err = LoadBaselines(dir)
	s.Error(t, "one scenario in two files", err)
}

// The repository's baselines load, name existing scenarios, do not repeat implied limits, and limit
// the required metrics.
func TestRepositoryBaselines(t *testing.T) {
	b, err := LoadBaselines("../../baselines")
	require.NoError(t, err)
	require.NotEmpty(t, b.scenarios)
	for name, baseline := range b.scenarios {
		// A file with one scenario has its name. A file with several has their common prefix.
		base := strings.TrimSuffix(filepath.Base(baseline.File), ".hcl")
		if name != base {
			assert.True(t, strings.HasPrefix(name, base+"-"), "%s in %s", name, baseline.File)
			assert.FileExists(t, filepath.Join("../../scenarios", base+".hcl"))
		}
		for _, l := range baseline.Limits {
			assert.False(t, ofLedger(l.Metric), "%s: the limit on %s is implied", name, l.Metric)
		}
	}
	smoke, ok := b.For("smoke") // which CI runs
	require.True(t, ok)
	var metrics []string
	for _, l := range smoke.Limits {
		metrics = append(metrics, l.Metric)
	}
	assert.Subset(t, metrics, []string{
		result.CyclesPerS, result.ServerCPUUsPerCycle, result.CycleLatencyMs + "_p50", result.ServerRSSMBMax,
	})
}

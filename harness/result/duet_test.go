package result_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

func oneGeneration() *result.Duet {
	d := &result.Duet{Version: result.DuetVersion, Scenario: "compare"}
	g := result.Generation{Number: 1, Verdict: result.Pass, Slices: []result.Slice{{Side: 1, Seconds: 0.025, Cycles: 2000, ServerCPUNs: 2e7}}}
	g.Sides[1] = result.GenerationSide{Cycles: 2000, ServerCPUNs: 2e7, ActiveS: 0.025, Open: &result.DuetLatency{Arrivals: 1, P50Ms: 1, P99Ms: 2}}
	d.Generations = append(d.Generations, g)
	return d
}

func TestDuetIsReadAsItWasWritten(t *testing.T) {
	dir, d := t.TempDir(), oneGeneration()
	require.NoError(t, result.WriteDuet(dir, d))
	read, err := result.ReadDuet(dir)
	require.NoError(t, err)
	assert.Equal(t, d.Generations, read.Generations)
}

func TestDuetWithoutANumberIsNotWritten(t *testing.T) {
	for _, v := range infinite {
		dir, d := t.TempDir(), oneGeneration()
		d.Generations[0].Sides[1].Open.P99Ms = v
		require.ErrorContains(t, result.WriteDuet(dir, d), "generations[0].sides[1].open.p99_ms is ")
		assert.NoFileExists(t, filepath.Join(dir, result.DuetFile))
	}
}

func TestDuetThatCannotBeRead(t *testing.T) {
	s := golden.Cases(t, "testdata/badduets.golden")
	dir := t.TempDir()
	s.Replace(dir, "FOLDER")
	_, err := result.ReadDuet(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	d := oneGeneration()
	d.Generations[0].Verdict = "fine"
	require.NoError(t, result.WriteDuet(dir, d))
	_, err = result.ReadDuet(dir)
	s.Error(t, "unknown verdict", err)
	d = oneGeneration()
	d.Version++
	require.NoError(t, result.WriteDuet(dir, d))
	_, err = result.ReadDuet(dir)
	s.Error(t, "later version", err)
	text, err := os.ReadFile(filepath.Join(dir, result.DuetFile))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, result.DuetFile), []byte(strings.Replace(string(text), "{", "[", 1)), 0o600))
	_, err = result.ReadDuet(dir)
	s.Error(t, "not JSON", err)
}

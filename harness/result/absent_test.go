package result_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// A null figure in a stored result was not measured. It must be absent, not 0.
func TestNullIsAbsent(t *testing.T) {
	r, hists := sampleResult(t)
	r.Metrics = map[string]result.Metric{result.CyclesPerS: {Median: 123454321, N: 7}, result.Lost: {N: 7}}
	r.Rounds[0].Metrics = map[string]float64{result.CyclesPerS: 123454321, result.Lost: 0}
	f, err := result.Create(t.TempDir(), r.Run)
	require.NoError(t, err)
	require.NoError(t, f.Store(r, hists))
	data, err := os.ReadFile(f.File(result.ResultFile))
	require.NoError(t, err)
	spoilt := strings.ReplaceAll(string(data), "123454321", "null")
	require.NotEqual(t, string(data), spoilt)
	require.NoError(t, os.WriteFile(f.File(result.ResultFile), []byte(spoilt), 0o600))

	stored, _, err := result.Read(f.Path())
	require.NoError(t, err)
	assert.NotContains(t, stored.Metrics, result.CyclesPerS)
	assert.NotContains(t, stored.Rounds[0].Metrics, result.CyclesPerS)
	assert.Contains(t, stored.Metrics, result.Lost)
	assert.Equal(t, r.Rounds[1], stored.Rounds[1])
	stored.Rounds = stored.Rounds[:1]
	var csv bytes.Buffer
	require.NoError(t, result.WriteCSV(&csv, stored))
	assert.NotContains(t, csv.String(), result.CyclesPerS)
	assert.Contains(t, csv.String(), result.Lost)
}

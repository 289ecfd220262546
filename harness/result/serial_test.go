package result_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

func serialPoint(waits string, workNs float64) result.SerialPoint {
	return result.SerialPoint{
		Waits: waits, ServerProcs: 1, GeneratorProcs: 1, Connections: 1, InFlight: 64, Budget: &result.SerialBudget{WorkNs: workNs},
		Unloaded: &result.SerialWindow{}, AtBudget: &result.SerialWindow{WorkNs: workNs},
	}
}

func TestSerialIsReadAsItWasWritten(t *testing.T) {
	dir := t.TempDir()
	s := &result.Serial{Version: result.SerialVersion, KeptShare: 0.95, Points: []result.SerialPoint{
		serialPoint(result.WaitsParking, 300), serialPoint(result.WaitsParking, 400), serialPoint(result.WaitsParking, 200),
		{Waits: result.WaitsSpinning, Skipped: "it cannot spin"},
	}}
	require.NoError(t, result.WriteSerial(dir, s))
	got, err := result.ReadSerial(dir)
	require.NoError(t, err)
	assert.Equal(t, s.Points, got.Points)
	assert.Equal(t, []any{s.Version, s.KeptShare}, []any{got.Version, got.KeptShare})
	assert.Equal(t, &got.Points[1], got.Largest(result.WaitsParking))
	assert.Nil(t, got.Largest(result.WaitsSpinning))
	assert.Equal(t, "parking waits, server procs 1, generator procs 1, connections 1, in flight 64", got.Points[0].Name())

	s.Points[0].Budget.WorkNs = math.NaN()
	require.Error(t, result.WriteSerial(dir, s))
}

func TestSerialThatCannotBeRead(t *testing.T) {
	s := golden.Cases(t, "testdata/badserial.golden")
	for name, text := range map[string]string{
		"later version":    `{"version": 2}`,
		"no budget":        `{"version": 1, "points": [{"waits": "parking"}]}`,
		"different stages": `{"version": 1, "points": [{"budget": {}, "unloaded": {"profile": {"stages": [{"name": "decide"}]}}, "at_budget": {}}]}`,
	} {
		dir := t.TempDir()
		s.Replace(dir, "FOLDER")
		require.NoError(t, os.WriteFile(filepath.Join(dir, result.SerialFile), []byte(text), 0o600))
		_, err := result.ReadSerial(dir)
		s.Error(t, name, err)
	}
}

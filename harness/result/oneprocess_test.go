package result_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// Figures that only separate processes have may be missing with one process or no server, but
// nowhere else.
func TestFiguresThatTakeTwoProcesses(t *testing.T) {
	sides := []string{result.ServerCPUUsPerCycle, result.ClientCPUUsPerCycle, result.ServerCPUCores}
	for _, c := range []struct {
		part    result.Part
		lacking []string
	}{
		{result.InOneProcess, sides},
		{result.NoServer, append([]string{result.ServerRSSMBMax}, sides...)},
	} {
		rounds, hists := sampleRounds(t, 2)
		for _, r := range rounds {
			for _, name := range c.lacking {
				delete(r.Metrics, name)
			}
		}
		m, err := result.Summarise(rounds, hists, result.OfLoad, c.part)
		require.NoError(t, err, c.part)
		assert.Contains(t, m, result.CPUUsPerCycle)
		_, err = result.Summarise(rounds, hists, result.OfLoad)
		for _, name := range c.lacking {
			assert.NotContains(t, m, name)
			assert.ErrorContains(t, err, name)
		}
	}
	rounds, hists := sampleRounds(t, 2)
	for _, r := range rounds {
		delete(r.Metrics, result.ServerRSSMBMax)
	}
	_, err := result.Summarise(rounds, hists, result.OfLoad, result.InOneProcess)
	require.ErrorContains(t, err, result.ServerRSSMBMax, "a single process still has a size")
}

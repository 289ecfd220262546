package result_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

func TestPeaksOfCounts(t *testing.T) {
	assert.Equal(t, result.Peaks{}, result.PeaksOf(nil))
	assert.Equal(t, result.Peaks{Count: 1, Of: []result.Peak{{UpTo: 0, Count: 1}}}, result.PeaksOf([]result.Peak{{0, 1}, {8, 0}}), "a peak of 0 counts")
	assert.Equal(t, result.Peaks{Count: 200, P99: 4, Max: 16, Of: []result.Peak{{2, 100}, {4, 98}, {16, 2}}},
		result.PeaksOf([]result.Peak{{16, 2}, {2, 60}, {4, 98}, {2, 40}}))
	assert.InDelta(t, 16, result.PeaksOf([]result.Peak{{4, 98}, {16, 2}}).P99, 0, "98 of 100 values are fewer than 99 %")
}

// The figures of several rounds cover the peaks of all their timed rounds together. Rounds of a
// server without the counter and profiled rounds do not count.
func TestLossWindowsOfAllTimedRoundsCount(t *testing.T) {
	rounds, hists := sampleRounds(t, 7)
	for i := range rounds {
		of := result.PeaksOf([]result.Peak{{10, 100}})
		rounds[i].LossWindow = &result.LossWindow{Tasks: of, Ms: of}
	}
	rounds[2].LossWindow = nil
	rounds[4].LossWindow = &result.LossWindow{Tasks: result.PeaksOf([]result.Peak{{10, 100}, {300, 1}}), Ms: result.PeaksOf([]result.Peak{{0, 1}})}
	// The profiled round.
	rounds[7].LossWindow = &result.LossWindow{Tasks: result.PeaksOf([]result.Peak{{9_000, 9}})}
	for i := range rounds {
		rounds[i].Derive(hists[i].Histograms)
	}
	assert.InDelta(t, 300, rounds[4].Metrics["unsynced_tasks_max"], 0)
	m, err := result.Summarise(rounds, hists, result.OfLoad)
	require.NoError(t, err)
	assert.Equal(t, result.Metric{Median: 300, Low: 10, High: 300, N: 6, Unit: "tasks"}, m["unsynced_tasks_max"])
	assert.Equal(t, result.Metric{Median: 10, Low: 10, High: 10, N: 6, Unit: "tasks"}, m["unsynced_tasks_p99"])
	assert.Equal(t, result.Metric{Median: 10, Low: 0, High: 10, N: 6, Unit: "ms"}, m["unsynced_ms_max"])
	assert.Contains(t, m, "unsynced_ms_p99")
}

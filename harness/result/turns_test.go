package result_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// The figures of several rounds cover all their turns together: a median of rounds would hide the
// round with a long turn. Profiled rounds do not count.
func TestTurnsOfAllTimedRoundsCount(t *testing.T) {
	rounds, hists := sampleRounds(t, 7)
	for i := range rounds {
		rounds[i].Turns = &result.Turns{Count: 1_000, MsMax: 1, ItemsMax: uint64(100 + i)}
	}
	rounds[4].Turns = &result.Turns{Count: 4_000, Above2Ms: 5, MsMax: 16, ItemsMax: 3_000}
	// The profiled round.
	rounds[7].Turns = &result.Turns{Count: 1_000, Above2Ms: 1_000, MsMax: 256, ItemsMax: 9_000}
	for i := range rounds {
		rounds[i].Derive(hists[i].Histograms)
	}
	assert.InDelta(t, 5.0/4_000, rounds[4].Metrics["shard_turns_above_2ms_ratio"], 1e-12)
	m, err := result.Summarise(rounds, hists, result.OfLoad)
	require.NoError(t, err)
	assert.Equal(t, result.Metric{Median: 5.0 / 10_000, Low: 0, High: 5.0 / 4_000, N: 7, Unit: "ratio"}, m["shard_turns_above_2ms_ratio"])
	assert.Equal(t, result.Metric{Median: 16, Low: 1, High: 16, N: 7, Unit: "ms"}, m["shard_turn_ms_max"])
	assert.Equal(t, result.Metric{Median: 3_000, Low: 100, High: 3_000, N: 7, Unit: "items"}, m["shard_turn_items_max"])

	idle := result.Round{Turns: &result.Turns{}}
	idle.Derive(result.Histograms{})
	assert.Contains(t, idle.Metrics, "shard_turns_above_2ms_ratio")
	assert.Zero(t, idle.Metrics["shard_turns_above_2ms_ratio"], "no turn exceeded the limit")
}

package gate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// A ceiling limits the turns of a point, and 0 turns above 2 ms is a measurement.
func TestTurnsHaveCeilings(t *testing.T) {
	b, err := baselines(t, `
baseline "scaling" {
  ceiling "shard_turns_above_2ms_ratio" {
    point   = "shards=4"
    max     = 0
    because = "no turn may be long"
  }
  ceiling "shard_turn_ms_max" {
    point   = "shards=4"
    max     = 2
    because = "no turn may be long"
  }
  ceiling "shard_turn_items_max" {
    point   = "shards=4"
    max     = 6096
    because = "no turn may handle many items"
  }
}
`)
	require.NoError(t, err)
	check := func(ratio, ms, items float64) Report {
		r := scaling()
		for metric, v := range map[string]float64{result.ShardTurnsAbove2MsRatio: ratio, result.ShardTurnMsMax: ms, result.ShardTurnItemsMax: items} {
			r.Points[2].Metrics[metric] = result.Metric{Median: v, Low: v, High: v, N: 3}
		}
		return Check(b, r)
	}
	report := check(0, 2, 6096)
	assert.Equal(t, result.Pass, report.Verdict, report.Reasons)
	report = check(1e-6, 4, 6097)
	assert.Equal(t, result.Regressed, report.Verdict)
	for _, f := range report.Findings[:3] {
		assert.False(t, f.OK, f.Sentence)
	}
	report = check(0, 0, 0) // no turn at all
	assert.True(t, report.Findings[0].OK)
	assert.False(t, report.Findings[1].OK)
	assert.False(t, report.Findings[2].OK)
}

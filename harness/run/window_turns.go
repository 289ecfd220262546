package run

import (
	"fmt"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

const (
	turnsHistogram = "prony_shard_turn_seconds"
	turnItemsGauge = "prony_shard_turn_items_max"
)

// turns adds the figures about the turns of the shards in the window. They include all shards and
// all nodes that were up at the end of the window. Nothing is added if the servers do not measure
// their turns.
func (c *counters) turns(m *measured) {
	var all observe.Buckets
	items, timed := 0.0, false
	for _, s := range c.servers {
		if s.countersAfter == nil {
			continue // another warning reports that it was down
		}
		after, there := s.metricsAfter.Histograms[turnsHistogram]
		grown, err := after.Since(s.metricsBefore.Histograms[turnsHistogram])
		if err != nil {
			m.warnings = append(m.warnings, fmt.Sprintf("round %d: the turns of the shards are missing: %v", m.round.Number, err))
			return
		}
		all, timed = all.Plus(grown), timed || there
		items = max(items, s.countersAfter[turnItemsGauge])
	}
	if !timed {
		return
	}
	const limit = result.TurnLimitMs / 1e3
	t := &result.Turns{Count: all.Total(), MsMax: 1e3 * all.Highest(), ItemsMax: uint64(items)}
	edge := false
	for _, b := range all {
		edge = edge || b.Upper == limit
		if b.Upper > limit {
			t.Above2Ms += b.Count
		}
	}
	if !edge {
		m.warnings = append(m.warnings, fmt.Sprintf("round %d: the turns of the shards are missing: no bucket of %s ends at %v s", m.round.Number, turnsHistogram, limit))
		return
	}
	m.round.Turns = t
}

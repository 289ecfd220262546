package run

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

// turned returns the metrics of turns: the counts of turns up to 1 ms, 2 ms, 4 ms and longer, and
// the maximum items of a turn.
func turned(items float64, counts ...uint64) observe.Metrics {
	m := observe.Metrics{Values: map[string]float64{turnItemsGauge: items}, Histograms: map[string]observe.Buckets{}}
	var buckets observe.Buckets
	for i, upper := range []float64{0.001, 0.002, 0.004, math.Inf(1)} {
		buckets = append(buckets, observe.Bucket{Upper: upper, Count: counts[i]})
	}
	m.Histograms[turnsHistogram] = buckets
	return m
}

// A round's turns are those that ended in the window, over all servers that were up at its end.
func TestTurnsAreThoseOfTheWindow(t *testing.T) {
	w := counters{servers: []*serverProbe{
		stageProbe(turned(7, 10, 10, 0, 1), turned(9, 15, 12, 3, 1)),
		stageProbe(observe.Metrics{}, turned(4, 1, 0, 0, 0)), // it was restarted
		stageProbe(turned(100, 1, 0, 0, 0), observe.Metrics{}),
	}}
	var m measured
	w.turns(&m)
	assert.Empty(t, m.warnings)
	assert.Equal(t, &result.Turns{Count: 11, Above2Ms: 3, MsMax: 4, ItemsMax: 9}, m.round.Turns)

	w.servers = []*serverProbe{stageProbe(observe.Metrics{}, turned(4, 0, 0, 0, 1))}
	w.turns(&m)
	assert.Equal(t, &result.Turns{Count: 1, Above2Ms: 1, MsMax: 4, ItemsMax: 4}, m.round.Turns, "turns beyond the last bound get that bound")
}

// Unknown turns are missing, never zero.
func TestTurnsThatAreNotKnown(t *testing.T) {
	texts := golden.Cases(t, "testdata/turns.golden")
	for name, c := range map[string]struct {
		before, after observe.Metrics
	}{
		"the server does not time them": {after: observe.Metrics{Values: map[string]float64{"up": 1}}},
		"another process counted":       {before: turned(7, 10, 10, 0, 0), after: turned(7, 9, 10, 0, 0)},
		"no bucket ends at 2 ms": {
			after: observe.Metrics{
				Values: map[string]float64{"up": 1}, Histograms: map[string]observe.Buckets{turnsHistogram: {{Upper: 0.0025, Count: 1}}},
			},
		},
	} {
		w := counters{servers: []*serverProbe{stageProbe(c.before, c.after)}}
		var m measured
		w.turns(&m)
		assert.Nil(t, m.round.Turns, name)
		texts.Equal(t, name, strings.Join(m.warnings, "\n"))
	}
}

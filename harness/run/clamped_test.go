package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Latencies beyond the highest recorded value make a round invalid, because its percentiles are too
// low. Tasks enqueued before the window are exempt.
func TestLatenciesThatWereCutOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		clamped uint64
		kind    kind
		alone   bool
		want    result.Verdict
	}{
		"none":          {0, timed, false, result.Pass},
		"some":          {3, timed, false, result.Invalid},
		"profiled":      {3, profiled, false, result.Pass},
		"of a backlog":  {3, timed, true, result.Pass},
		"a calibration": {3, calibration, false, result.Invalid},
	} {
		w := scenario.Workload{Name: "main", Producers: 1, Workers: 1}
		if c.alone {
			w.Producers, w.Arrivals.Kind = 0, scenario.Closed
		}
		h := result.NewHistogram()
		o := &outcomes{workloads: []scenario.Workload{w}, all: []*load.Outcome{{
			Clamped: c.clamped, EnqueueLatency: h, SettleLatency: h, CycleLatency: h,
		}}}
		m := &measured{round: result.Round{Verdict: result.Pass}}
		r := &runner{scenario: &scenario.Scenario{}, peaks: []float64{0}}
		require.NoError(t, r.take(o, plannedRound{kind: c.kind}, m), name)
		assert.Equal(t, c.want, m.round.Verdict, name)
		if c.want == result.Invalid {
			assert.Contains(t, m.round.Reasons[0], "3 latencies exceeded 1m0s, the highest recorded value", name)
		}
	}
}

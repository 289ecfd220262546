package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// A server accepts as many sessions per connection as package scenario allows: 512 producers and
// 512 workers.
func TestAServerTakesAllSessionsThatAScenarioMayHave(t *testing.T) {
	t.Parallel()
	s := small()
	w := &s.Workloads[0]
	w.Tenants, w.Producers, w.Workers, w.Batch, w.InFlight = 512, 512, 512, 1, 1024
	e := execute(t, s, real(t))
	require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
	assert.Positive(t, e.result.Metrics[result.CyclesPerS].Median)
}

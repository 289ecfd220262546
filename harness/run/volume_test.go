package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// A round that ends after a number of tasks lasts as long as these tasks take, and its rate is over
// that time.
func TestRoundOfTasks(t *testing.T) {
	t.Parallel()
	s := small()
	s.Phases.Tasks, s.Phases.Window = 2000, patience
	r := execute(t, s, real(t)).result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	round := r.Rounds[0]
	assert.GreaterOrEqual(t, round.Cycles, uint64(2000))
	assert.Less(t, round.WindowSeconds, patience.Seconds())
	assert.InDelta(t, float64(round.Cycles)/round.WindowSeconds, r.Metrics[result.CyclesPerS].Median, 1e-6)
}

func TestRoundOfTooManyTasks(t *testing.T) {
	t.Parallel()
	s := small()
	s.Phases.Tasks, s.Phases.Window = 1_000_000_000, window
	r := execute(t, s, real(t)).result
	assert.Equal(t, result.Invalid, r.Verdict)
	require.NotEmpty(t, r.Reasons)
	assert.Regexp(t, `^round 1: [\d,]+ of 1,000,000,000 tasks were done in the window of .+: raise phases.window, or lower phases.tasks$`, r.Reasons[0])
}

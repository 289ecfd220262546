package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Whole runs of a real server with delayed tasks, by each driver that supports them: no task is
// claimed before it is due.
func TestDelays(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stream", "unary", "rest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small()
			w := &s.Workloads[0]
			// So few that many delays end within the window.
			w.Driver, w.Batch, w.InFlight = name, 4, 16
			w.Delay = scenario.Delay{Time: 10 * time.Millisecond, Part: 0.2}
			r := execute(t, s, real(t)).result
			require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
			l := r.Rounds[0].Ledger
			assert.InDelta(t, 0.2, float64(l.Delayed)/float64(l.Enqueued), 0.1)
			assert.Zero(t, l.Early)
			assert.Positive(t, r.Metrics[result.LateMs+"_n"].Median)
		})
	}
}

// A server that forgets delays makes the run incorrect.
func TestTasksThatComeEarlyAreIncorrect(t *testing.T) {
	t.Parallel()
	s := small()
	s.Workloads[0].Delay = scenario.Delay{Time: time.Second, Part: 0.2}
	r := execute(t, s, acting(t, faultNone)).result
	assert.Equal(t, result.Incorrect, r.Verdict)
	require.NotEmpty(t, r.Reasons)
	assert.Regexp(t, `not delayed: \d+ of \d+ deliveries of delayed tasks came before their due time; the first: early: producer \d task \d+, `+
		`enqueued with a delay of 1s, was claimed [\d.]+ms before the delay ended`, r.Reasons[0])
}

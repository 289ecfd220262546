package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Whole runs of a real server whose tasks have results, by each driver that supports them: reads
// return the results of the completions.
func TestResults(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stream", "unary", "rest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small()
			w := &s.Workloads[0]
			w.Driver, w.Batch, w.Result = name, 4, scenario.Results{Size: 300, Part: 0.5}
			r := execute(t, s, real(t)).result
			require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
			assert.NotZero(t, r.Rounds[0].Ledger.Results)
			assert.Zero(t, r.Rounds[0].Ledger.WrongResults)
		})
	}
}

// A server that returns a result other than that of the completion makes the run incorrect.
func TestResultsThatAreWrongAreIncorrect(t *testing.T) {
	t.Parallel()
	s := small()
	s.Workloads[0].Result = scenario.Results{Size: 300, Part: 0.5}
	r := execute(t, s, acting(t, faultNone)).result
	assert.Equal(t, result.Incorrect, r.Verdict)
	require.NotEmpty(t, r.Reasons)
	assert.Regexp(t, `not returned: \d+ of \d+ results of completed tasks were wrong or not found; the first: wrong result: `+
		`producer \d task \d+: read back 0 bytes, expected 300`, r.Reasons[0])
}

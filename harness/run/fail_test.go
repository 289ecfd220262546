package run

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// Whole runs of a real server whose tasks fail, by each driver that supports it. Each failure is
// retried or ends its task, and the server's account includes the dead tasks.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stream", "unary", "rest"} {
		for _, combined := range []bool{false, true} {
			if combined && name == "stream" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := small()
				w := &s.Workloads[0]
				w.Driver, w.Combined, w.Batch = name, combined, 4
				w.Fail, w.MaxAttempts, w.Backoff = 0.4, 2, 5*time.Millisecond
				r := execute(t, s, real(t)).result
				require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
				l := r.Rounds[0].Ledger
				assert.NotZero(t, l.Dead)
				assert.NotZero(t, l.Retried)
				assert.Equal(t, l.Failed, l.Retried+l.Dead)
				assert.Equal(t, l.Enqueued, l.Completed+l.Dead)
			})
		}
	}
}

// A server that acknowledges failures but never hands the tasks out again makes the run incorrect.
func TestRetriesThatAreLostAreIncorrect(t *testing.T) {
	t.Parallel()
	s := small()
	s.Workloads[0].Batch = 1 // a batch frees its slots when all of its tasks are completed
	s.Workloads[0].Fail, s.Workloads[0].MaxAttempts, s.Workloads[0].Backoff = 0.05, 5, 5*time.Millisecond
	r := executeUntilDrained(t, s, acting(t, faultForgets)).result
	assert.Equal(t, result.Incorrect, r.Verdict)
	require.NotEmpty(t, r.Reasons)
	assert.Regexp(t, `lost.*; the first: lost: producer \d task \d+: enqueue acknowledged, attempt 1 failed, never claimed again`, r.Reasons[0])
}

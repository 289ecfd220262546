package run

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// Whole runs of a real server with repeated enqueues of tasks, by each driver that supports keys:
// the server stores each of them once.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stream", "unary", "rest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small()
			w := &s.Workloads[0]
			w.Driver, w.Batch, w.Key = name, 4, 0.5
			r := execute(t, s, real(t)).result
			require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
			assert.NotZero(t, r.Rounds[0].Ledger.Repeated)
			assert.Zero(t, r.Rounds[0].Ledger.Rekeyed)
		})
	}
}

// A server that ignores keys makes the run incorrect: it answers with other ids and stores tasks
// twice.
func TestKeysThatAreForgottenAreIncorrect(t *testing.T) {
	t.Parallel()
	s := small()
	s.Workloads[0].Key = 0.2
	r := execute(t, s, acting(t, faultNone)).result
	assert.Equal(t, result.Incorrect, r.Verdict)
	assert.Regexp(t, `not idempotent: \d+ of \d+ repeated enqueues with the same key returned another task id; the first: `+
		`rekeyed: producer \d task \d+ was enqueued as "\d+" under the key "[\w-]+", and again as "\d+"`, strings.Join(r.Reasons, "\n"))
}

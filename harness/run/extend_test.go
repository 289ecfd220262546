package run

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Whole runs of a real server whose leases are extended, by each driver that supports it.
func TestExtensions(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stream", "unary", "rest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small()
			w := &s.Workloads[0]
			w.Driver, w.Batch, w.Extend = name, 4, 0.5
			s.Invariants = append(s.Invariants, scenario.Invariant{Kind: scenario.Exclusive})
			r := execute(t, s, real(t)).result
			require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
			assert.NotZero(t, r.Rounds[0].Ledger.Extended)
			assert.Zero(t, r.Rounds[0].Ledger.Unextended)
			assert.Positive(t, r.Metrics[result.ExtendLatencyMs+"_n"].Median)
		})
	}
}

// A server that refuses to extend a valid lease makes the run incorrect.
func TestExtensionsThatAreRefusedAreIncorrect(t *testing.T) {
	t.Parallel()
	s := small()
	s.Workloads[0].Extend = 0.5
	forTime(s, window) // tasks whose completion is refused stay leased and occupy in-flight slots
	r := executeUntilDrained(t, s, acting(t, faultStale)).result
	assert.Equal(t, result.Incorrect, r.Verdict)
	assert.Regexp(t, `not extended: \d+ extensions were refused although their lease was valid, and \d+ were acknowledged; the first: unextended: producer \d task \d+: `+
		`an extension was refused although the lease with token \d+ was valid for`, strings.Join(r.Reasons, "\n"))
}

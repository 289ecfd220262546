package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Whole runs of a real server whose tasks have priorities, by each driver that supports them: each
// task is claimed with the priority that it was enqueued with.
func TestPriorities(t *testing.T) {
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
				w.Priority = scenario.Priority{Kind: scenario.PriorityUniform, Min: 1, Max: scenario.PriorityMax}
				r := execute(t, s, real(t)).result
				require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
				assert.NotZero(t, r.Rounds[0].Ledger.Completed)
				assert.Zero(t, r.Rounds[0].Ledger.Corrupted)
			})
		}
	}
}

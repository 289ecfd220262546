package terminal_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report/terminal"
	"github.com/pronybench/prony/harness/result"
)

func TestCheckTextIsReadAtAGlance(t *testing.T) {
	assert.Equal(t, `smoke: regressed
  the run's own verdict is inconclusive
  FAIL  cycles_per_s 5,912 is below the floor 20,000: a tenth of what shared cores do
  ok    lost 0 is not above the ceiling 0
  ok    cycle_latency_ms_p99 8.74 is not above the ceiling 10 (margin 13 %)
  -     cycle_latency_ms_p99 is not judged: the ledger does not balance, so the figure is meaningless
  where to look, in the profiled rounds:
    block: 71 % of 12.3 s waited in engine/shard.(*committer).run
`, terminal.Check(gate.Report{
		Scenario: "smoke", Verdict: result.Regressed,
		Reasons: []string{"the run's own verdict is inconclusive", "cycles_per_s 5,912 is below the floor 20,000: a tenth of what shared cores do"},
		Findings: []gate.Finding{
			{Judged: true, Sentence: "cycles_per_s 5,912 is below the floor 20,000: a tenth of what shared cores do"},
			{Judged: true, OK: true, Sentence: "lost 0 is not above the ceiling 0"},
			{Judged: true, OK: true, Margin: new(0.126), Sentence: "cycle_latency_ms_p99 8.74 is not above the ceiling 10"},
			{Sentence: "cycle_latency_ms_p99 is not judged: the ledger does not balance, so the figure is meaningless"},
		},
		Where: []string{"block: 71 % of 12.3 s waited in engine/shard.(*committer).run"},
	}))
	assert.Equal(t, "unknown scenario: misconfigured\n  there is no result to check\n",
		terminal.Check(gate.Report{Verdict: result.Misconfigured, Reasons: []string{"there is no result to check"}}))
}

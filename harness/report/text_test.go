package report_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

// equalGolden compares text with a file under testdata/golden, or rewrites the file with -update.
func equalGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(golden, name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func TestCheckTextIsReadAtAGlance(t *testing.T) {
	equalGolden(t, "check.txt", report.CheckText(gate.Report{
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
		report.CheckText(gate.Report{Verdict: result.Misconfigured, Reasons: []string{"there is no result to check"}}))
}

func TestComparisonTextIsReadAtAGlance(t *testing.T) {
	equalGolden(t, "comparison.txt", report.ComparisonText(comparisonFixture()))
	stored := &result.Comparison{Verdict: result.Misconfigured, Reasons: []string{"the change has no result to compare"}}
	assert.Equal(t, "unknown scenario: misconfigured: base unknown, change unknown; 0 and 0 rounds\n  the change has no result to compare\n",
		report.ComparisonText(stored))
}

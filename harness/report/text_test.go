package report_test

import (
	"testing"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

func TestComparisonTextIsReadAtAGlance(t *testing.T) {
	golden.Text(t, "testdata/golden/comparison.txt", report.ComparisonText(comparisonFixture()))
	stored := &result.Comparison{Verdict: result.Misconfigured, Reasons: []string{"the change has no result to compare"}}
	sheet(t).Equal(t, "no result", report.ComparisonText(stored))
}

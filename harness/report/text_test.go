package report_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

func TestComparisonTextIsReadAtAGlance(t *testing.T) {
	equalGolden(t, "comparison.txt", report.ComparisonText(comparisonFixture()))
	stored := &result.Comparison{Verdict: result.Misconfigured, Reasons: []string{"the change has no result to compare"}}
	assert.Equal(t, "unknown scenario: misconfigured: base unknown, change unknown; 0 and 0 rounds\n  the change has no result to compare\n",
		report.ComparisonText(stored))
}

package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// The explanations of limits, with each kind of limit, of configuration and of margin once.
func TestBaselineExplain(t *testing.T) {
	t.Chdir("testdata/limits")
	got := prony(t, "baseline", "explain")
	require.Equal(t, 0, got.code, got.stderr)
	assert.Empty(t, got.stderr)
	golden.Text(t, "testdata/limits/explained.golden", got.stdout)
}

func TestBaselineExplainJSON(t *testing.T) {
	t.Chdir("testdata/limits")
	explained := func(args ...string) []string {
		got := prony(t, append([]string{"baseline", "explain", "--json"}, args...)...)
		require.Equal(t, 0, got.code, got.stderr)
		var all limitsExplained
		require.NoError(t, json.Unmarshal([]byte(got.stdout), &all))
		var names []string
		for _, e := range all.Scenarios {
			names = append(names, e.Scenario)
		}
		return names
	}
	assert.Equal(t, []string{"carrier", "changed", "gone", "whole"}, explained())
	assert.Equal(t, []string{"whole"}, explained("whole"))
	assert.Equal(t, []string{"carrier", "changed", "unlimited"}, explained("scenarios/two.hcl"))
	assert.Equal(t, []string{"changed", "gone", "whole"}, explained("./baselines/limits.hcl"))
	assert.Equal(t, []string{"carrier", "gone"}, explained("gone", "carrier"))
	assert.Equal(t, []string{"unlimited"}, explained("unlimited"), "the implied limits")
	assert.Equal(t, []string{"hello"}, explained("../../../../../scenarios/hello.hcl"), "a file outside the folder")

	got := prony(t, "baseline", "explain", "--json", "whole")
	var all limitsExplained
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &all))
	whole := all.Scenarios[0]
	assert.True(t, whole.Matches)
	require.Len(t, whole.Limits, 4+3)
	assert.InDelta(t, 100*8.0/9, *whole.Limits[0].MarginPercent, 1e-9)
	assert.True(t, whole.Limits[1].Relative)
	assert.True(t, whole.Limits[6].Implied)
}

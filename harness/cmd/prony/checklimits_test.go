package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// A run is judged by the limits that its scenario had when it ran, not by the current file, and
// needs no folder of baselines.
func TestCheckByTheLimitsThatARunCarried(t *testing.T) {
	inFolder(t)
	limit := func(min string) string {
		return inTasks(tiny("tiny", "1s", `limit "cycles_per_s" { min = `+min+`  because = "no host does that" }`))
	}
	write(t, "tiny.hcl", limit("1e15"))
	got := prony(t, "run", "--json", "--rounds", "1", "tiny.hcl")
	require.Equal(t, 0, got.code, got.stderr)
	folder := got.document(t).Scenarios[0].Run
	write(t, "tiny.hcl", limit("1"))
	for range 2 {
		got = prony(t, "check", "--json", folder)
		assert.Equal(t, 1, got.code, got.stderr)
		assert.Contains(t, got.stderr, "is below the floor 1e+15: no host does that")
		assert.NotContains(t, got.stderr, "baseline")
		assert.Equal(t, result.Regressed, got.document(t).Verdict)
		write(t, "baselines/other.hcl", "baseline \"other\" {\n  floor \"cycles_per_s\" {\n    min     = 1\n    because = \"x\"\n  }\n}\n")
	}
	write(t, "baselines/tiny.hcl", baseline)
	got = prony(t, "check", "--json", folder)
	assert.Equal(t, 2, got.code, got.stderr)
	sheet(t).Equal(t, "two limits", got.document(t).Scenarios[0].Reasons[0])
}

// Without baselines, a run of a scenario without limit blocks is not judged. A folder given with
// --baselines must exist.
func TestCheckNeedsLimits(t *testing.T) {
	inFolder(t)
	assert.Equal(t, 2, prony(t, "check", stored(t, "a", "run", nil)).code)
	write(t, "tiny.hcl", inTasks(tiny("tiny", "1s", `limit "cycles_per_s" { min = 0.001  because = "x" }`)))
	got := prony(t, "run", "--json", "--rounds", "1", "tiny.hcl")
	require.Equal(t, 0, got.code, got.stderr)
	folder := got.document(t).Scenarios[0].Run
	assert.Equal(t, 0, prony(t, "check", folder).code)
	refused(t, sheet(t), "no baselines", prony(t, "check", "--baselines", "nowhere", folder))
}

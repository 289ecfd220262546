package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// guardLimits are a floor and a ceiling of a scenario.
func guardLimits(scenario, configuration string, floor float64) string {
	return fmt.Sprintf(`
baseline %q {
  %s
  floor "cycles_per_s" {
    min     = %g
    because = "it does that"
  }
  ceiling "server_rss_mb_max" {
    max     = 4096
    because = "memory is bounded"
  }
}
`, scenario, configuration, floor)
}

func TestGuard(t *testing.T) {
	inFolder(t)
	write(t, "one.hcl", tiny("one", "1s", ""))
	write(t, "two.hcl", tiny("two", "1s", ""))
	write(t, "baselines/one.hcl", guardLimits("one", "", 0.001))
	write(t, "baselines/two.hcl", guardLimits("two", "", 1e12))
	got := prony(t, "guard", "--ci", "forci", "--json", "one.hcl", "two.hcl")
	assert.Equal(t, 1, got.code, got.stderr)
	document := got.document(t)
	assert.Equal(t, result.Regressed, document.Verdict)
	require.Len(t, document.Scenarios, 2)
	assert.Equal(t, result.Pass, document.Scenarios[0].Verdict)
	assert.FileExists(t, document.Scenarios[0].Page)
	for _, says := range []string{
		"one (1 of 2): durability none", "two (2 of 2): durability none", "two broke a limit, and is run once more with profiles",
		"two: regressed\n  ", "is below the floor 1,000,000,000,000: it does that", "where to look:\n    commits: ",
		"again: prony guard two.hcl\n\n1 of 2 scenarios passed in ", ": regressed\n", "no task at fault",
	} {
		assert.Contains(t, got.stderr, says)
	}
	assert.NotContains(t, got.stderr, "what they are", "tables of figures are left out")
	assert.FileExists(t, filepath.Join("forci", "junit.xml"))
	folders, err := filepath.Glob(filepath.Join("runs", "2*"))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(folders), 3, "a run whose rate was not steady is repeated too")

	got = prony(t, "guard", "one.hcl")
	assert.Equal(t, 0, got.code, got.stderr)
	assert.Empty(t, got.stdout)
	assert.Contains(t, got.stderr, "\n1 of 1 scenario passed in ")
}

// Limits for another configuration are refused before anything is measured.
func TestGuardRefusesOtherConfigurations(t *testing.T) {
	inFolder(t)
	write(t, "one.hcl", tiny("one", "1s", ""))
	write(t, "two.hcl", tiny("two", "1s", ""))
	write(t, "baselines/one.hcl", guardLimits("one", `configuration = "0123456789ab"`, 1))
	write(t, "baselines/two.hcl", guardLimits("two", `configuration = "123456789abc"`, 1))
	got := prony(t, "guard", "--json", "one.hcl", "two.hcl")
	assert.Equal(t, 2, got.code)
	assert.Equal(t, result.Misconfigured, got.document(t).Verdict)
	for _, says := range []string{`limits of "one" are for the configuration 0123456789ab`, `limits of "two" are for the configuration 123456789abc`} {
		assert.Contains(t, got.stderr, says)
	}
	_, err := os.Stat(defaultOut)
	assert.ErrorIs(t, err, os.ErrNotExist, "nothing was measured")

	got = prony(t, "guard", "--within", "-1s", "one.hcl")
	assert.Equal(t, 2, got.code)
	assert.Contains(t, got.stderr, "--within -1s is below 0")
}

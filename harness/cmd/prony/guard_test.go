package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// guardLimits returns a baseline with a floor and a ceiling.
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
	write(t, "one.hcl", inTasks(tiny("one", "1s", "")))
	write(t, "two.hcl", inTasks(tiny("two", "1s", "")))
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
		"Speed was judged by order-of-magnitude limits only, because no limit is relative to a baseline build.",
		"one (1 of 2): durability none", "two (2 of 2): durability none", "two broke a limit and runs again with profiles",
		"two: regressed\n  ", "is below the floor 1,000,000,000,000: it does that", "where to look:\n    commits: ",
		"again: prony guard two.hcl\n\n1 of 2 scenarios passed in ", ": regressed\n", "no task at fault",
	} {
		assert.Contains(t, got.stderr, says)
	}
	assert.NotContains(t, got.stderr, "what they are", "tables of figures are left out")
	assert.FileExists(t, filepath.Join("forci", "junit.xml"))
	folders, err := filepath.Glob(filepath.Join("runs", "2*"))
	require.NoError(t, err)
	assert.Len(t, folders, 3, "two runs, and one with profiles")

	got = prony(t, "guard", "one.hcl")
	assert.Equal(t, 0, got.code, got.stderr)
	assert.Empty(t, got.stdout)
	assert.Contains(t, got.stderr, "\n1 of 1 scenario passed in ")
}

// Limits for another configuration are rejected before anything is measured.
func TestGuardRefusesOtherConfigurations(t *testing.T) {
	inFolder(t)
	write(t, "one.hcl", tiny("one", "1s", ""))
	write(t, "two.hcl", tiny("two", "1s", ""))
	write(t, "baselines/one.hcl", guardLimits("one", `configuration = "0123456789ab"`, 1))
	write(t, "baselines/two.hcl", guardLimits("two", `configuration = "123456789abc"`, 1))
	got := prony(t, "guard", "--json", "one.hcl", "two.hcl")
	got.stderr = regexp.MustCompile(`the run has \w+`).ReplaceAllString(got.stderr, "the run has CONFIGURATION")
	refused(t, sheet(t), "two limits", got)
	assert.Equal(t, result.Misconfigured, got.document(t).Verdict)
	_, err := os.Stat(defaultOut)
	assert.ErrorIs(t, err, os.ErrNotExist, "nothing was measured")
}

// Without a baseline build, its ratios are not judged, and the first line says so. If it is
// required, there is no verdict.
func TestGuardWithoutABaselineBuild(t *testing.T) {
	inFolder(t)
	write(t, "one.hcl", inTasks(tiny("one", "100ms", `limit "cycles_per_s" {
    of_baseline = 0.9
    because     = "it is"
  }`)))
	s := sheet(t)
	judged := func(name string, got command) {
		t.Helper()
		assert.Equal(t, 0, got.code, got.stderr)
		for line := range strings.Lines(got.stderr) {
			if strings.HasPrefix(line, "Speed was judged") {
				s.Equal(t, name, line)
			}
		}
	}
	got := prony(t, "guard", "--json", "one.hcl")
	judged("no file of builds", got)
	assert.NotContains(t, got.stderr, "one: pass", "only the limits give a verdict")
	limits := got.document(t).Scenarios[0].Limits
	require.NotEmpty(t, limits)
	assert.False(t, limits[0].Judged)

	mistake(t, s, "guard", "--baseline", "required", "one.hcl")
	write(t, buildFile, namingBuild("0123456789abcdef0123456789abcdef01234567"))
	refused(t, s, "no repository", prony(t, "guard", "--baseline", "required", "one.hcl"))
	judged("--baseline none", prony(t, "guard", "--baseline", "none", "one.hcl"))
}

func namingBuild(commit string) string {
	return fmt.Sprintf("build %q {\n  date    = \"2026-11-28\"\n  because = \"it is first\"\n}\n", commit)
}

// Both builds are measured at the same time. Here they are the same server.
func TestGuardBesideTheBaselineBuild(t *testing.T) {
	root, commit := sourceRepository(t)
	folder, err := baselineCache(t.Context(), root, commit)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, os.Symlink(queuedBinary, filepath.Join(folder, "queued")))
	t.Setenv("PRONY_QUEUED", queuedBinary)
	const limits = `limit "cycles_per_s" {
    of_baseline = 0.01
    because     = "the host may stop at any time"
  }`
	write(t, buildFile, namingBuild(commit))
	write(t, "duet.hcl", strings.ReplaceAll(tiny("duet", "1s", limits), "driver ", "procs = 1\n    driver "))
	var stderr bytes.Buffer
	guard := exec.CommandContext(t.Context(), pronyBinary, "guard", "--baseline", "required", "--json", "duet.hcl")
	guard.Stderr = &stderr
	out, err := guard.Output()
	require.NoError(t, err, stderr.String())
	d := command{stdout: string(out)}.document(t)
	require.Len(t, d.Scenarios, 1)
	limit := d.Scenarios[0].Limits[0]
	require.NotNil(t, limit.OfBaseline)
	assert.Equal(t, commit, limit.OfBaseline.Commit)
	assert.GreaterOrEqual(t, limit.OfBaseline.Pairs, 2)
	assert.True(t, limit.OK)
	assert.Contains(t, stderr.String(), fmt.Sprintf("Speed was judged against baseline build %.7s of 2026-11-28", commit))
	assert.Contains(t, stderr.String(), "counters of fixed work kept")
	assert.FileExists(t, d.Scenarios[0].Page)
}

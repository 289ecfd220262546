package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// completed returns the completions of the last word of a command line.
func completed(t *testing.T, args ...string) []string {
	t.Helper()
	got := prony(t, append([]string{"__complete"}, args...)...)
	require.Equal(t, 0, got.code, got.stderr)
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	var words []string
	for _, line := range lines[:len(lines)-1] { // the last one is a directive for the shell
		word, _, _ := strings.Cut(line, "\t")
		words = append(words, word)
	}
	return words
}

func TestCompletion(t *testing.T) {
	inFolder(t)
	write(t, "scenarios/one.hcl", strings.Replace(tiny("one", "100ms", ""), "rounds = 2", `tags = ["small", "smoke"]`, 1))
	write(t, "scenarios/deep/two.hcl", strings.Replace(tiny("two", "100ms", ""), "rounds = 2", `tags = ["large"]`, 1))
	write(t, "scenarios/shared/part.hcl", `invariant "isolated" {}`)
	run := stored(t, defaultOut, "20261121-tiny", nil)
	write(t, filepath.Join(defaultOut, "logs", "x"), "")
	comparison := filepath.Join(defaultOut, "20261121-compare")
	write(t, filepath.Join(comparison, result.ComparisonFile), "{}")

	assert.Equal(t, []string{"run"}, completed(t, "ru"))
	for _, command := range []string{"run", "guard", "publish", "validate", "explain"} {
		assert.Equal(t, []string{"scenarios/deep/two.hcl", "scenarios/one.hcl"}, completed(t, command, ""), "included files are not scenarios")
		assert.Equal(t, []string{"scenarios/one.hcl"}, completed(t, command, "scenarios/deep/two.hcl", "sc"), "no file twice")
		assert.Equal(t, []string{"hcl"}, completed(t, command, "elsewhere/"), "any file with the suffix")
	}
	assert.Equal(t, []string{"large", "small", "smoke"}, completed(t, "list", "--tag", ""))
	assert.Equal(t, []string{"small", "smoke"}, completed(t, "list", "--tag", "sm"))
	assert.Equal(t, []string{"large"}, completed(t, "list", "scenarios/deep", "--tag", ""))
	assert.Equal(t, []string{"bench", "csv", "k6"}, completed(t, "report", "--format", ""))
	newest := filepath.Join(defaultOut, result.LatestLink)
	assert.Equal(t, []string{"lint", "set", comparison, run, newest}, completed(t, "report", ""))
	assert.Equal(t, []string{comparison, run, newest}, completed(t, "view", ""))
	assert.Empty(t, completed(t, "view", run, ""), "view takes one argument")
	assert.Equal(t, []string{run, newest}, completed(t, "compare", comparison, "ru"), "no folder twice")
	assert.Equal(t, []string{"cpu", "mutex", "block", "allocs", "goroutine"}, completed(t, "profile", "top", "--kind", ""))
	assert.Equal(t, []string{"two", "one"}, completed(t, "baseline", "explain", ""))
	assert.Equal(t, []string{"single", "sharded", "raft", "embedded"}, completed(t, "init", "--topology", ""))
	assert.Equal(t, []string{"sync", "interval", "none"}, completed(t, "init", "--durability", ""))
	assert.Equal(t, kindNames(), completed(t, "gate", "selftest", "--kinds", ""))
	assert.Equal(t, []string{"scenarios/deep/two.hcl", "scenarios/one.hcl"}, completed(t, "compare", "--scenario", ""))
	assert.Equal(t, shells, completed(t, "completion", ""))
}

// The shells accept their scripts.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range shells {
		got := prony(t, "completion", shell)
		require.Equal(t, 0, got.code, got.stderr)
		assert.Contains(t, got.stdout, "__complete")
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not installed, so its script is not checked", shell)
			continue
		}
		check := exec.Command(path, "-n")
		check.Stdin = strings.NewReader(got.stdout)
		out, err := check.CombinedOutput()
		assert.NoError(t, err, "%s: %s", shell, out)
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

// Without an argument, the program prints the same overview as with --help.
func TestOverview(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}} {
		got := prony(t, args...)
		assert.Equal(t, 0, got.code)
		assert.Empty(t, got.stderr)
		golden.Text(t, "testdata/overview.golden", got.stdout)
	}
	assert.NoDirExists(t, defaultOut, "none of these made a run folder")
}

// The help describes each command and each flag.
func TestHelpMentionsEverything(t *testing.T) {
	root := newRoot([]string{"prony"})
	names := map[string]bool{}
	for _, c := range working(root) {
		names[c.Name()] = true
		above := prony(t, append(pathOf(c)[:len(pathOf(c))-1], "--help")...).stdout
		assert.Contains(t, above, "  "+c.Name()+" ")
		assert.Contains(t, above, c.Short)
		help := prony(t, append(pathOf(c), "--help")...)
		assert.Equal(t, 0, help.code)
		assert.Empty(t, help.stderr)
		assert.NotEmpty(t, c.Example, c.Name())
		assert.Contains(t, help.stdout, c.Example)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			assert.NotEmpty(t, f.Usage, f.Name)
			assert.Contains(t, help.stdout, "--"+f.Name)
			assert.Contains(t, help.stdout, f.Usage)
		})
	}
	for _, name := range []string{"run", "check", "report", "validate", "explain", "list", "version"} {
		assert.Contains(t, names, name)
	}
}

// All errors of a scenario are reported together, and nothing is started.
func TestScenarioWithErrors(t *testing.T) {
	dir := inFolder(t)
	pids := noting(t, "exit 1")
	write(t, "wrong.hcl", `
scenario "wrong" {
  topology "single" { durabilty = "none" }
  workload "main" {
    driver    = "stream"
    producers = 2
    workers   = 4
    payload   = fixed(64)
  }
  phases { window = "3 parsecs" }
  exporter "x" {}
}
`)
	write(t, "sound.hcl", tiny("tiny", "100ms", ""))
	args := []string{"run", "--out", "results", "sound.hcl", "wrong.hcl"}
	plain := mistake(t, sheet(t), args...)
	assert.Empty(t, plain.stdout)
	got := prony(t, append(args, "--json")...)
	assert.Equal(t, 2, got.code)
	assert.Equal(t, plain.stderr, got.stderr)
	document := got.document(t)
	assert.Equal(t, result.Misconfigured, document.Verdict)
	assert.NotNil(t, document.Scenarios)
	assert.Empty(t, document.Scenarios)
	assert.NoFileExists(t, pids, "no server was started")
	assert.NoDirExists(t, "results", dir)
	assert.NoDirExists(t, defaultOut)
}

func TestInterruptedCommand(t *testing.T) {
	inFolder(t)
	write(t, "sound.hcl", tiny("tiny", "100ms", ""))
	var stdout, stderr bytes.Buffer
	code := execute(cancelled(t), []string{"prony", "run", "--json", "sound.hcl"}, &stdout, &stderr)
	assert.Equal(t, exitInterrupted, code)
	assert.Empty(t, stdout.String(), "no verdict")
	assert.True(t, strings.HasSuffix(stderr.String(), "\ninterrupted\n"), stderr.String())
	assert.NotContains(t, stderr.String(), "context canceled")
}

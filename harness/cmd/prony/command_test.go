package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
)

func TestCommandLine(t *testing.T) {
	inFolder(t)
	write(t, "sound.hcl", tiny("tiny", "100ms", ""))
	for _, c := range []struct {
		name   string
		args   []string
		code   int
		stdout string // a part; "" means no output
		stderr string // as stdout
	}{
		{"no argument shows the overview", nil, 0, "prony run scenarios/smoke.hcl", ""},
		{"help", []string{"--help"}, 0, "Exit codes: 0 pass, 1 regressed, 2 misconfigured, 3 invalid, 4 inconclusive, 5 incorrect, 130 interrupted.\n", ""},
		{"unknown command", []string{"rnu"}, 2, "", `prony: there is no command "rnu": did you mean "run"?`},
		{"unknown flag", []string{"run", "--round", "3", "sound.hcl"}, 2, "", "prony: run has no flag --round: did you mean --rounds?"},
		{"no file", []string{"run"}, 2, "", "prony: run needs a scenario file, but got none"},
		{"missing file", []string{"run", "none.hcl"}, 2, "", "none.hcl"},
		{"rounds that are not a number", []string{"run", "--rounds", "many", "sound.hcl"}, 2, "", `prony: --rounds "many" is not a whole number`},
		{"no rounds", []string{"run", "--rounds", "0", "sound.hcl"}, 2, "", "prony: --rounds 0 must be between 1 and 1000"},
		{"negative rounds", []string{"run", "--rounds", "-1", "sound.hcl"}, 2, "", "prony: --rounds -1 must be between 1 and 1000"},
		{"too many rounds", []string{"run", "--rounds", "1001", "sound.hcl"}, 2, "", "prony: --rounds 1001 must be between 1 and 1000"},
		{"check without a run", []string{"check", "--baselines", "."}, 2, "", ".hcl"},
		{"check without baselines", []string{"check"}, 2, "", "baselines"},
		{"report without a run", []string{"report"}, 2, "", "prony: there is no newest run: runs/latest does not exist here"},
		{"report to two places", []string{"report", "--out", "a", "--publish", "b"}, 2, "", "--out and --publish exclude each other"},
		{"report of no run", []string{"report", "none"}, 2, "", "there is no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := prony(t, c.args...)
			assert.Equal(t, c.code, got.code, got.stderr)
			for _, out := range []struct{ want, got string }{{c.stdout, got.stdout}, {c.stderr, got.stderr}} {
				if out.want == "" {
					assert.Empty(t, out.got)
				} else {
					assert.Contains(t, out.got, out.want)
				}
			}
		})
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
	for _, asJSON := range []bool{false, true} {
		args := []string{"run", "--out", "results", "sound.hcl", "wrong.hcl"}
		if asJSON {
			args = append(args, "--json")
		}
		got := prony(t, args...)
		assert.Equal(t, 2, got.code)
		for _, says := range []string{
			"wrong.hcl line 3", "durabilty", `"durability"`, "wrong.hcl line 10", "3 parsecs", "wrong.hcl line 11", "exporter",
		} {
			assert.Contains(t, got.stderr, says)
		}
		if asJSON {
			document := got.document(t)
			assert.Equal(t, result.Misconfigured, document.Verdict)
			assert.NotNil(t, document.Scenarios)
			assert.Empty(t, document.Scenarios)
		} else {
			assert.Empty(t, got.stdout)
		}
	}
	assert.NoFileExists(t, pids, "no server was started")
	assert.NoDirExists(t, "results", dir)
	assert.NoDirExists(t, defaultOut)
}

func TestServerIsNotFound(t *testing.T) {
	inFolder(t)
	t.Setenv("PRONY_QUEUED", "nowhere/queued")
	write(t, "sound.hcl", tiny("tiny", "100ms", ""))
	got := prony(t, "run", "--json", "sound.hcl")
	assert.Equal(t, 2, got.code)
	assert.Contains(t, got.stderr, "prony: find the server: PRONY_QUEUED: ")
	assert.Equal(t, result.Misconfigured, got.document(t).Verdict)
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

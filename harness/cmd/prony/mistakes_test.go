package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mistaken are incomplete or wrong command lines, which run in an empty folder.
var mistaken = []string{
	"rnu", "lsit", "help rnu", "baseline nothing", "baseline explian", "gate test", "ratchet pgae", "doctor here",
	"run", "run --round 3 x.hcl", "run -rounds 3 x.hcl", "run --quick x.hcl", "run --rounds many x.hcl", "run --rounds", "run none.hcl",
	"guard", "guard --within soon x.hcl", "validate", "explain", "completion", "completion tcsh", "init", "init Big", "init a b",
	"profile diff", "profile diff a", "profile top a b", "ratchet", "compare", "compare a b c", "list", "list nowhere",
	"check", "check --baselines nowhere", "report", "report --out a --publish b", "report --format csv --json", "baseline explain",
	"baseline propose", "profile locks",
}

// A wrong command line has one message with the problem, the remedy, and a pointer to the help.
func TestMistakes(t *testing.T) {
	const file = "testdata/mistakes.golden"
	want, err := os.ReadFile(file)
	if !*rewrite {
		require.NoError(t, err)
	}
	here, err := os.Getwd()
	require.NoError(t, err)
	inFolder(t)
	var text strings.Builder
	for _, line := range mistaken {
		got := prony(t, strings.Fields(line)...)
		fmt.Fprintf(&text, "$ prony %s\nexit %d\n%s%s\n", line, got.code, got.stdout, got.stderr)
		assert.Equal(t, 2, got.code, line)
		assert.NotContains(t, got.stderr, "arg(s)", line)
	}
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Empty(t, left, "nothing is written")
	t.Chdir(here)
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
		return
	}
	assert.Equal(t, string(want), text.String(), "run with -rewrite and read the difference")
}

// An unknown word without a similar command lists all commands. A command that only contains others
// shows its help if no subcommand is named.
func TestUnknownCommands(t *testing.T) {
	for _, line := range []string{"foo", "--json foo", "help foo"} {
		got := prony(t, strings.Fields(line)...)
		assert.Equal(t, 2, got.code, line)
		assert.Regexp(t, `prony: there is no command "foo": there are baseline, check, .*, run, .*validate`, got.stderr, line)
	}
	for _, line := range []string{"", "help", "profile", "help profile", "profile --help", "help profile top", "baseline", "gate"} {
		got := prony(t, strings.Fields(line)...)
		assert.Equal(t, 0, got.code, line)
		assert.Empty(t, got.stderr, line)
		assert.Contains(t, got.stdout, "Usage:\n", line)
	}
}

// A scenario's name instead of its file, or a misspelt file name, gets a suggestion.
func TestAFileThatIsNotThereIsAskedAbout(t *testing.T) {
	inFolder(t)
	write(t, "scenarios/smoke/hello.hcl", tiny("hello", "100ms", ""))
	for _, given := range []string{"hello", "hello.hcl", "scenarios/hello.hcl", "helo.hcl"} {
		got := prony(t, "run", given)
		assert.Equal(t, 2, got.code)
		assert.Contains(t, got.stderr, "there is no file "+given+": did you mean scenarios/smoke/hello.hcl?\n", given)
	}
	got := prony(t, "run", "goodbye.hcl")
	assert.NotContains(t, got.stderr, "did you mean")
	got = prony(t, "validate", "--json", "hello")
	assert.Equal(t, 2, got.code)
	assert.Contains(t, got.stdout, `"file": "hello"`, "the problem is in the JSON document")
}

// An error about a missing program or file names the remedy.
func TestWhatIsNotInstalled(t *testing.T) {
	inFolder(t)
	write(t, "tiny.hcl", tiny("tiny", "100ms", ""))
	t.Setenv("PRONY_QUEUED", "")
	got := prony(t, "run", "tiny.hcl")
	assert.Equal(t, 2, got.code)
	assert.Contains(t, got.stderr, "prony: find the server: there is no queued in the folder of prony or in bin/: run `make build` in the root of the repository, or set PRONY_QUEUED to the path of queued\n")
	t.Setenv("PRONY_QUEUED", "nowhere")
	got = prony(t, "run", "tiny.hcl")
	assert.Contains(t, got.stderr, ": set it to the path of queued, or unset it to use the one in the folder of prony or in bin/\n")

	got = prony(t, "compare", "--base", "main")
	assert.Equal(t, 2, got.code)
	assert.Contains(t, got.stderr, "prony: the working directory is not in a git repository: work in a checkout of Prony, whose revisions are built: ")
	assert.Contains(t, got.stderr, "\n  two stored runs are compared without git: prony compare A B\n")
	t.Setenv("PATH", t.TempDir())
	for _, line := range []string{"compare --base main", "ratchet --base main --hypothesis x --cost none", "gate selftest"} {
		got = prony(t, strings.Fields(line)...)
		assert.Equal(t, 2, got.code)
		assert.Regexp(t, "prony: the program git, which checks out .*, is not in PATH: install it: ", got.stderr, line)
	}
}

// The folder of baselines is not needed if all scenarios have limits.
func TestGuardWithoutBaselines(t *testing.T) {
	inFolder(t)
	write(t, "tiny.hcl", tiny("tiny", "100ms", ""))
	got := prony(t, "guard", "tiny.hcl")
	assert.Equal(t, 2, got.code)
	assert.Contains(t, got.stderr, `prony: there is no folder "baselines", which the limits of scenarios are read from (--baselines)`)
	write(t, "tiny.hcl", inTasks(tiny("tiny", "1s", `limit "cycles_per_s" { min = 0.001  because = "x" }`)))
	got = prony(t, "guard", "--baselines", "nowhere", "tiny.hcl")
	assert.Equal(t, 2, got.code)
	assert.Contains(t, got.stderr, `there is no folder "nowhere"`)
	got = prony(t, "guard", "tiny.hcl")
	assert.Equal(t, 0, got.code, got.stderr)
}

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mistaken are command lines that say too little or something wrong, in a folder without anything.
var mistaken = []string{
	"rnu", "lsit", "help rnu", "baseline nothing", "baseline explian", "gate test", "ratchet pgae", "doctor here",
	"run", "run --round 3 x.hcl", "run -rounds 3 x.hcl", "run --quick x.hcl", "run --rounds many x.hcl", "run --rounds", "run none.hcl",
	"guard", "guard --within soon x.hcl", "validate", "explain", "completion", "completion tcsh", "init", "init Big", "init a b",
	"profile diff", "profile diff a", "profile top a b", "ratchet", "compare", "compare a b c", "list", "list nowhere",
	"check", "check --baselines nowhere", "report", "report --out a --publish b", "report --format csv --json", "baseline explain",
	"baseline propose", "profile locks",
}

// A mistake on the command line has one message that says what is missing or wrong, what to write, and where to look.
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

// A word that is like no command has all of them named, and a command that holds others shows its help without one of them.
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

// The name of a scenario in place of its file, or a file that is nearly named, is asked about.
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
	assert.Contains(t, got.stdout, `"file": "hello"`, "what is wrong has the shape that scripts read")
}

// What a command needs besides its arguments is named with what to do.
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
	assert.Contains(t, got.stderr, "prony: the working directory is in no git repository: work in a checkout of Prony's, of which revisions are built: ")
	assert.Contains(t, got.stderr, "\n  two stored runs are compared without git: prony compare A B\n")
	t.Setenv("PATH", t.TempDir())
	for _, line := range []string{"compare --base main", "ratchet --base main --hypothesis x --cost none", "gate selftest"} {
		got = prony(t, strings.Fields(line)...)
		assert.Equal(t, 2, got.code)
		assert.Regexp(t, "prony: the program git, which checks out .*, is not in PATH: install it: ", got.stderr, line)
	}
}

// The folder of baselines is not needed where all scenarios have limits of their own.
func TestGuardWithoutBaselines(t *testing.T) {
	inFolder(t)
	write(t, "tiny.hcl", tiny("tiny", "100ms", ""))
	got := prony(t, "guard", "tiny.hcl")
	assert.Equal(t, 2, got.code)
	assert.Contains(t, got.stderr, `prony: there is no folder "baselines", which the limits of scenarios are read from (--baselines)`)
	limited := func(window time.Duration) {
		write(t, "tiny.hcl", tiny("tiny", window.String(), `limit "cycles_per_s" { min = 0.001  because = "x" }`))
	}
	limited(time.Second)
	got = prony(t, "guard", "--baselines", "nowhere", "tiny.hcl")
	assert.Equal(t, 2, got.code)
	assert.Contains(t, got.stderr, `there is no folder "nowhere"`)
	got = untilValid(t, 500*time.Millisecond, func(window time.Duration) command {
		limited(window)
		return prony(t, "guard", "tiny.hcl")
	})
	assert.Equal(t, 0, got.code, got.stderr)
}

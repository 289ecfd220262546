package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startNothing are the commands whose examples the test runs: they read files of the repository, or
// write a new one.
var startNothing = []string{"validate", "explain", "list", "baseline explain", "completion", "init"}

// exampleWords matches the words of a command line, with shell quotes.
var exampleWords = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

func everyCommand(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		all = append(all, everyCommand(sub)...)
	}
	return all
}

// Each command has examples that work unchanged: the command, its flags and its arguments are
// accepted, the files exist, and the commands in startNothing succeed.
func TestExamplesOfTheHelp(t *testing.T) {
	t.Chdir("../../..")
	root := newRoot([]string{"prony"})
	carriedOut := 0
	for _, c := range everyCommand(root)[1:] {
		require.NotEmpty(t, c.Example, c.CommandPath())
		for line := range strings.Lines(c.Example) {
			line = strings.TrimSpace(line)
			assert.True(t, strings.HasPrefix(line, c.CommandPath()), "%s: an example of another command: %s", c.CommandPath(), line)
			t.Run(line, func(t *testing.T) {
				args := exampleArgs(t, line)
				accepted(t, args)
				if i := slices.IndexFunc(startNothing, func(name string) bool { return strings.HasPrefix(strings.Join(args, " ")+" ", name+" ") }); i >= 0 {
					carriedOut++
					carryOut(t, startNothing[i], args)
				}
			})
		}
	}
	assert.GreaterOrEqual(t, carriedOut, 2*len(startNothing)-1)
}

// The commands in the overview are valid.
func TestExamplesOfTheOverview(t *testing.T) {
	t.Chdir("../../..")
	lines := regexp.MustCompile(`(?m)^  (prony .*?)(?:  +|$)`).FindAllStringSubmatch(newRoot([]string{"prony"}).Long, -1)
	require.GreaterOrEqual(t, len(lines), 7)
	for _, line := range lines {
		accepted(t, exampleArgs(t, line[1]))
	}
}

// exampleArgs returns the arguments of an example, as a shell passes them in the root of the
// repository.
func exampleArgs(t *testing.T, line string) (args []string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " > ")
	line, _, _ = strings.Cut(line, " | ")
	for i, word := range exampleWords.FindAllString(line, -1) {
		switch {
		case i == 0:
			require.Equal(t, "prony", word)
		case strings.ContainsAny(word[:1], `'"`):
			args = append(args, word[1:len(word)-1])
		case strings.Contains(word, "*"):
			files, err := filepath.Glob(word)
			require.NoError(t, err)
			require.NotEmpty(t, files, "%s: no such file", word)
			args = append(args, files...)
		default:
			args = append(args, word)
		}
	}
	return args
}

// accepted checks that a command line is valid, without running it.
func accepted(t *testing.T, args []string) {
	t.Helper()
	root := newRoot([]string{"prony"})
	require.NoError(t, unknownCommand(root, args))
	c, rest, err := root.Find(args)
	require.NoError(t, err)
	require.NoError(t, c.ParseFlags(rest))
	require.NoError(t, c.ValidateArgs(c.Flags().Args()))
	for _, arg := range args {
		if strings.HasSuffix(arg, ".hcl") && strings.Contains(arg, "/") {
			assert.FileExists(t, arg)
		}
	}
}

// carryOut runs an example, which must succeed.
func carryOut(t *testing.T, name string, args []string) {
	t.Helper()
	if name == "init" { // init writes a file
		t.Chdir(t.TempDir())
		require.NoError(t, os.Mkdir(defaultScenarios, 0o700))
	}
	got := prony(t, args...)
	assert.Equal(t, 0, got.code, got.stderr)
	assert.NotEmpty(t, got.stdout)
}

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// completions returns the words that the shell is offered, and the directive after them.
func (s *shell) completions(args ...string) (words []string, directive string) {
	s.Helper()
	r := s.run(append([]string{"__complete"}, args...)...)
	require.Equal(s, exitOK, r.code, r.err)
	lines := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
	return lines[:len(lines)-1], lines[len(lines)-1]
}

const noFiles = ":4"

func TestWordsAreCompletedWithoutAServer(t *testing.T) {
	s := newShell(t, "QUEUED_ADMIN_SERVER=127.0.0.1:1")
	for line, want := range map[string]string{
		"tasks list --queue q --state ":   "ready delayed waiting leased dead",
		"queues configure q --placement ": "spread ordered",
		"dead list --reason ":             "attempts expired permanent dependency",
		"tenants tokens create --scope ":  "produce work admin",
		"status --output ":                "table json",
		"serve --durability ":             "sync interval none",
		"serve --auth ":                   "on off",
		"config show --log-level ":        "debug info warn error",
		"queues show ":                    "", // the server does not answer, and no error is shown
		"claim --queue ":                  "",
		"complete ":                       "",
	} {
		args := strings.Split(line, " ")
		words, directive := s.completions(args...)
		assert.Equal(t, strings.Fields(want), append([]string{}, words...), line)
		assert.Equal(t, noFiles, directive, line)
	}
	words, directive := s.completions("config", "check", "")
	assert.Empty(t, words)
	assert.Equal(t, ":0", directive, "the shell completes files")
	words, _ = s.completions("qu")
	assert.Equal(t, []string{"queues\tList, show, configure, pause, resume, purge and delete queues"}, words)
}

// Each flag that accepts only certain words has a completion.
func TestEveryChoiceIsCompleted(t *testing.T) {
	eachCommand(func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			choices, chosen := f.Value.(interface{ Choices() []string })
			if !chosen || len(choices.Choices()) == 0 {
				return
			}
			complete, found := c.GetFlagCompletionFunc(f.Name)
			if assert.True(t, found, "%s --%s", c.CommandPath(), f.Name) {
				words, _ := complete(c, nil, "")
				assert.Equal(t, choices.Choices(), words)
			}
		})
	})
}

func TestQueueNamesAreCompletedByTheServer(t *testing.T) {
	s, _ := serveInProcess(t)
	for _, name := range []string{"mail", "mail/bulk", "other"} {
		s.ok("enqueue", "--queue", name, "x")
	}
	for _, args := range [][]string{{"queues", "show", "ma"}, {"claim", "--queue", "ma"}, {"tasks", "list", "--queue", "ma"}} {
		words, directive := s.completions(args...)
		assert.Equal(t, []string{"mail", "mail/bulk"}, words, "%v", args)
		assert.Equal(t, noFiles, directive)
	}
	words, _ := s.completions("queues", "show", "mail", "ma")
	assert.Empty(t, words, "no completion after one argument")
	words, _ = s.completions("queues", "show", "--token", "guessed", "ma")
	assert.Empty(t, words, "the token of the command line is used")
}

// The scripts parse in each shell that is installed.
func TestCompletionScripts(t *testing.T) {
	for _, name := range []string{"bash", "zsh", "fish"} {
		script := newShell(t).ok("completion", name)
		assert.Contains(t, script, "queued")
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		c := exec.CommandContext(t.Context(), path, "-n")
		c.Stdin = strings.NewReader(script)
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
	}
}

package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/golden"
)

// eachCommand visits every command of the program except cobra's own.
func eachCommand(visit func(c *cobra.Command)) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		visit(c)
		for _, sub := range c.Commands() {
			if sub.Name() != "help" && sub.Name() != "completion" {
				walk(sub)
			}
		}
	}
	walk((&app{}).root())
}

// The golden files have the exact help of each command.
func TestHelpIsAsWritten(t *testing.T) {
	eachCommand(func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())
		s := newShell(t)
		help := s.ok(append(path[1:], "--help")...)
		golden.Text(t, "testdata/help/"+strings.Join(path, "-")+".golden", help)
		if c.HasSubCommands() {
			assert.Equal(t, help, s.ok(path[1:]...), "a group without a subcommand shows its help")
		}
	})
}

// Each command has an example that begins with a command line of this program, and each flag has a
// description.
func TestHelpTeaches(t *testing.T) {
	commands := 0
	eachCommand(func(c *cobra.Command) {
		commands++
		assert.NotEmpty(t, c.Short, c.CommandPath())
		if c.HasParent() {
			assert.Contains(t, c.Example, c.CommandPath(), c.CommandPath())
		}
		c.Flags().VisitAll(func(f *pflag.Flag) { assert.NotEmpty(t, f.Usage, "%s --%s", c.CommandPath(), f.Name) })
		for line := range strings.Lines(c.Long) {
			assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), 115, line)
		}
	})
	assert.Greater(t, commands, 35)
}

// The program accepts the command lines of all examples.
func TestExamplesAreUnderstood(t *testing.T) {
	eachCommand(func(c *cobra.Command) {
		for _, args := range exampleCommands(c.Example) {
			line := strings.Join(args, " ")
			found, rest, err := (&app{}).root().Find(args)
			assert.NoError(t, err, line)
			assert.NoError(t, found.ParseFlags(rest), line)
			assert.NoError(t, missing(found), line)
			if found.Args != nil {
				assert.NoError(t, found.Args(found, found.Flags().Args()), line)
			}
		}
	})
}

// words splits a command line at spaces outside of quotes.
func words(line string) (out []string) {
	var word strings.Builder
	quoted, any := false, false
	flush := func() {
		if any {
			out = append(out, word.String())
		}
		word.Reset()
		any = false
	}
	for _, r := range line {
		switch {
		case r == '\'':
			quoted, any = !quoted, true
		case !quoted && (r == ' ' || r == '\n'):
			flush()
		default:
			word.WriteRune(r)
			any = true
		}
	}
	flush()
	return out
}

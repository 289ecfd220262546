package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// misused returns the error of an invalid command line: the problem, the first example of the
// command, and a pointer to the help. look is a sentence without its end, or "".
func misused(c *cobra.Command, look, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if example, _, _ := strings.Cut(strings.TrimSpace(c.Example), "\n"); example != "" {
		text += "\n  for example: " + example
	}
	if look != "" {
		look += "; "
	}
	return fmt.Errorf("%s\n  %s`%s --help` says more", text, look, c.CommandPath())
}

// nameOfCommand returns the words of a command after "prony".
func nameOfCommand(c *cobra.Command) string {
	return strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
}

// arguments describe the positional arguments of a command.
type arguments struct {
	what  string // name of one argument, such as "scenario file"
	least int
	most  int    // 0: no limit
	look  string // where to find values; the look of misused
}

var (
	noArguments   = arguments{}
	scenarioFiles = arguments{what: "scenario file", least: 1, look: "`prony list` lists the scenarios"}
	oneFile       = arguments{what: "file", least: 1, most: 1}
	oneRun        = arguments{what: "run folder", most: 1}
	twoRuns       = arguments{what: "run folder", least: 2, most: 2, look: "`ls runs` shows the folders of runs"}
)

// check is a cobra.PositionalArgs.
func (a arguments) check(c *cobra.Command, args []string) error {
	name := nameOfCommand(c)
	switch {
	case len(args) < a.least:
		return misused(c, a.look, "%s needs %s, but %s", name, a.needed(), givenCount(len(args)))
	case a.what == "" && len(args) > 0:
		meant := nearestCommand(c, args[0])
		if meant != "" {
			meant = ": " + meant
		}
		return misused(c, "", "%s takes no arguments, but got %q%s", name, args[0], meant)
	case a.most > 0 && len(args) > a.most:
		return misused(c, a.look, "%s takes at most %s, but %s", name, render.Plural(a.most, a.what), givenCount(len(args)))
	}
	return nil
}

func (a arguments) needed() string {
	if a.least == 1 {
		return "a " + a.what
	}
	return render.Plural(a.least, a.what)
}

func givenCount(n int) string {
	switch n {
	case 0:
		return "got none"
	case 1:
		return "got 1"
	}
	return fmt.Sprintf("got %d", n)
}

// nearestCommand suggests a command below c with a similar name, or returns "".
func nearestCommand(c *cobra.Command, word string) string {
	c.SuggestionsMinimumDistance = 2
	var meant []string
	for _, name := range c.SuggestionsFor(word) {
		meant = append(meant, fmt.Sprintf("%q", name))
	}
	if len(meant) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(meant, " or ") + "?"
}

// unknownCommand returns an error if the command line names a command that does not exist, with the
// nearest one. A command that only contains others shows its help if no subcommand is named.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) > 0 && args[0] == "help" {
		args = args[1:]
	}
	c, rest, _ := root.Find(args) // its error says less
	i := slices.IndexFunc(rest, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if i < 0 || c.Runnable() || strings.HasPrefix(rest[i], cobra.ShellCompRequestCmd) {
		return nil
	}
	name := fmt.Sprintf("command %q", rest[i])
	if c != root {
		name = fmt.Sprintf("command %q of %q", rest[i], c.CommandPath())
	}
	remedy := nearestCommand(c, rest[i])
	if remedy == "" {
		var names []string
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		remedy = "there are " + hclfile.List(names)
		if len(names) == 1 {
			remedy = "there is " + names[0]
		}
	}
	return fmt.Errorf("there is no %s: %s\n  `%s --help` says what each of them does", name, remedy, c.CommandPath())
}

// flagError describes an invalid flag. It is a command's flag error function.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var without *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%s has no flag %s\n  `%s --help` lists the flags", nameOfCommand(c), unknownFlag(c, unknown), c.CommandPath())
	case errors.As(err, &without):
		f := without.GetFlag()
		return misused(c, "", "--%s needs a value: %s", f.Name, f.Usage)
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		kind, known := flagValues[f.Value.Type()]
		if !known {
			return fmt.Errorf("--%s %q: %w", f.Name, invalid.GetValue(), err)
		}
		return fmt.Errorf("--%s %q is not %s", f.Name, invalid.GetValue(), kind)
	}
	return err
}

// flagValues describe the values of flags by type.
var flagValues = map[string]string{
	"bool": "true or false", "int": "a whole number", "uint64": "a whole number from 0", "duration": "a duration, such as 90s or 1m30s",
}

// unknownFlag returns an unknown flag as it was written, with a suggestion.
func unknownFlag(c *cobra.Command, err *pflag.NotExistError) string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	name, written := err.GetSpecifiedName(), "--"+err.GetSpecifiedName()
	// One dash: no command has flags of one letter, except -h.
	if letters := err.GetSpecifiedShortnames(); letters != "" {
		name, written = letters, "-"+letters
	}
	name, _, _ = strings.Cut(name, "=")
	meant := hclfile.Nearest(name, names)
	if slices.Contains(names, name) {
		meant = name
	}
	if meant == "" {
		return written
	}
	return fmt.Sprintf("%s: did you mean --%s?", written, meant)
}

func oneOfFlags(c *cobra.Command, names ...string) error {
	var both []string
	for _, name := range names {
		if c.Flags().Changed(name) {
			both = append(both, "--"+name)
		}
	}
	if len(both) < 2 {
		return nil
	}
	return fmt.Errorf("%s exclude each other: give one of them", strings.Join(both, " and "))
}

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groupKey is the annotation with the heading under which the help lists a flag.
const groupKey = "group"

// under sets the heading under which the help lists the flags.
func under(heading string, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{groupKey: {heading}} })
}

// helpColumns is the width of the help in columns.
const helpColumns = 100

// usage writes the part of a command's help that follows its description: usage line, examples,
// subcommands, and flags under their headings.
func usage(c *cobra.Command) error {
	var b strings.Builder
	use := c.UseLine()
	if c.HasAvailableSubCommands() {
		use = c.CommandPath() + " COMMAND [flags]"
	}
	fmt.Fprintf(&b, "Usage:\n  %s\n", use)
	if c.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	commands(&b, c)
	headings, flags := []string{}, map[string]*pflag.FlagSet{}
	inherited := c.InheritedFlags()
	c.Flags().VisitAll(func(f *pflag.Flag) {
		heading := "Flags"
		if inherited.Lookup(f.Name) != nil || c.PersistentFlags().Lookup(f.Name) != nil || f.Name == "help" || f.Name == "version" {
			heading = "Everywhere"
		}
		if named := f.Annotations[groupKey]; len(named) > 0 {
			heading = named[0]
		}
		if flags[heading] == nil {
			headings = append(headings, heading)
			flags[heading] = pflag.NewFlagSet(heading, pflag.ContinueOnError)
			flags[heading].SortFlags = false
		}
		shown := *f
		shown.Value = kindValue{f.Value}
		if shown.DefValue == "[]" {
			shown.DefValue = ""
		}
		flags[heading].AddFlag(&shown)
	})
	for _, last := range []bool{false, true} {
		for _, heading := range headings {
			if (heading == "Everywhere") == last {
				fmt.Fprintf(&b, "\n%s:\n%s", heading, flags[heading].FlagUsagesWrapped(helpColumns))
			}
		}
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n'%s COMMAND --help' says more about one.\n", c.CommandPath())
	}
	_, err := io.WriteString(c.OutOrStderr(), b.String())
	return err
}

// kindValue is a flag value with a descriptive type name, like the type names of settings.
type kindValue struct{ pflag.Value }

func (v kindValue) Type() string {
	switch kind := v.Value.Type(); kind {
	case "string":
		return "text"
	case "stringArray", "stringSlice":
		return "list"
	case "uint32", "uint64":
		return "number"
	default:
		return kind
	}
}

func commands(b *strings.Builder, c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	width := 0
	for _, sub := range c.Commands() {
		width = max(width, len(sub.Name()))
	}
	list := func(title, id string) {
		found := false
		for _, sub := range c.Commands() {
			if sub.GroupID != id || !sub.IsAvailableCommand() {
				continue
			}
			if !found {
				fmt.Fprintf(b, "\n%s\n", title)
				found = true
			}
			fmt.Fprintf(b, "  %-*s  %s\n", width, sub.Name(), sub.Short)
		}
	}
	for _, g := range c.Groups() {
		list(g.Title, g.ID)
	}
	title := "Commands:"
	if len(c.Groups()) > 0 {
		title = "More:"
	}
	list(title, "")
}

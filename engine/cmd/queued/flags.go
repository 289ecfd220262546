package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/config"
)

// durationValue is a flag whose value is a duration with a unit. The unit may be days.
type durationValue struct{ to *time.Duration }

func (v durationValue) Set(text string) error {
	d, err := config.ParseDuration(text)
	if err != nil {
		return err
	}
	*v.to = d
	return nil
}

func (durationValue) Type() string { return "duration" }

func (v durationValue) String() string {
	if v.to == nil || *v.to == 0 {
		return ""
	}
	return config.FormatDuration(*v.to)
}

func durationFlag(flags *pflag.FlagSet, to *time.Duration, name, usage string) {
	flags.Var(durationValue{to}, name, usage)
}

// sizeValue is a flag whose value is a number of bytes with a unit.
type sizeValue struct{ to *uint64 }

func (v sizeValue) Set(text string) error {
	n, err := config.ParseSize(text)
	if err != nil {
		return err
	}
	*v.to = n
	return nil
}

func (sizeValue) Type() string { return "size" }

func (v sizeValue) String() string {
	if v.to == nil || *v.to == 0 {
		return ""
	}
	return config.FormatSize(*v.to)
}

// timeValue is a flag whose value is a point in time.
type timeValue struct{ to *time.Time }

func (v timeValue) Set(text string) error {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return errors.New(`is not a time: write it as in "2030-01-31T09:00:00Z"`)
	}
	*v.to = t
	return nil
}

func (timeValue) Type() string { return "time" }

func (v timeValue) String() string {
	if v.to == nil || v.to.IsZero() {
		return ""
	}
	return v.to.Format(time.RFC3339)
}

// nextTimeValue is a flag whose value is a future time. A time of day means its next occurrence in
// local time.
type nextTimeValue struct{ timeValue }

func (v nextTimeValue) Set(text string) error {
	if v.timeValue.Set(text) == nil {
		return nil
	}
	clock, err := time.Parse("15:04", text)
	if err != nil {
		return errors.New(`is not a time: write "09:00" for its next occurrence in local time, or YYYY-MM-DDThh:mm:ssZ`)
	}
	*v.to = nextTime(time.Now(), clock.Hour(), clock.Minute())
	return nil
}

// nextTime returns the first occurrence of a time of day after now, in the time zone of now.
func nextTime(now time.Time, hour, minute int) time.Time {
	for day := now.Day(); ; day++ {
		if t := time.Date(now.Year(), now.Month(), day, hour, minute, 0, 0, now.Location()); t.After(now) {
			return t
		}
	}
}

// headersValue is a flag that adds a header, KEY=VALUE, each time it is set.
type headersValue struct{ to *map[string]string }

func (v headersValue) Set(text string) error {
	key, value, found := strings.Cut(text, "=")
	if _, twice := (*v.to)[key]; twice {
		return fmt.Errorf("repeats the key %s: pass each key once", key)
	}
	if !found {
		return errors.New("has no value: write it as in kind=welcome")
	}
	if *v.to == nil {
		*v.to = map[string]string{}
	}
	(*v.to)[key] = value
	return nil
}

func (headersValue) Type() string { return "header" }

func (headersValue) String() string { return "" }

// headerFilterValue is a flag that selects tasks by a header, KEY=VALUE.
type headerFilterValue struct{ to **adminpb.HeaderFilter }

func (v headerFilterValue) Set(text string) error {
	key, value, found := strings.Cut(text, "=")
	if !found {
		return errors.New("has no value: write it as in trace=7f3a")
	}
	*v.to = &adminpb.HeaderFilter{Key: key, Value: value}
	return nil
}

func (headerFilterValue) Type() string { return "header" }

func (headerFilterValue) String() string { return "" }

// wordValue is a flag whose value is one of a fixed set of words. words[i] selects values[i].
type wordValue[T any] struct {
	to     *T
	text   *string
	words  []string
	values []T
}

func wordFlag[T any](flags *pflag.FlagSet, to *T, name string, words []string, values []T, usage string) {
	flags.Var(&wordValue[T]{to, new(string), words, values}, name, usage)
}

func (v *wordValue[T]) Set(text string) error {
	for i, w := range v.words {
		if w == text {
			*v.to, *v.text = v.values[i], text
			return nil
		}
	}
	remedy := ""
	if meant := config.Nearest(text, v.words); meant != "" {
		remedy = fmt.Sprintf(": did you mean %s?", meant)
	}
	return fmt.Errorf("is not one of %s%s", strings.Join(v.words, ", "), remedy)
}

// Choices returns the accepted words.
func (v *wordValue[T]) Choices() []string { return v.words }

func (*wordValue[T]) Type() string { return "word" }

func (v *wordValue[T]) String() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// numberValue is a flag whose value is a non-negative integer.
type numberValue[T uint32 | uint64] struct{ to *T }

func numberFlag[T uint32 | uint64](flags *pflag.FlagSet, to *T, name string, def T, usage string) {
	*to = def
	flags.Var(numberValue[T]{to}, name, usage)
}

func (v numberValue[T]) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > uint64(^T(0)) {
		return fmt.Errorf("is not a whole number from 0 to %d", ^T(0))
	}
	*v.to = T(n)
	return nil
}

func (numberValue[T]) Type() string { return "number" }

func (v numberValue[T]) String() string {
	if v.to == nil {
		return ""
	}
	return strconv.FormatUint(uint64(*v.to), 10)
}

// requiredKey is the annotation that marks a required flag.
const requiredKey = "required"

func needs(c *cobra.Command, names ...string) {
	for _, name := range names {
		f := c.Flags().Lookup(name)
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[requiredKey] = []string{}
	}
}

// missing returns an error that names the required flags that are not set, or nil if all are set.
func missing(c *cobra.Command) error {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if _, required := f.Annotations[requiredKey]; required && !f.Changed {
			names = append(names, "--"+f.Name)
		}
	})
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("'%s' needs %s; its --help has examples", c.CommandPath(), strings.Join(names, " and "))
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if c.HasSubCommands() {
		remedy := fmt.Sprintf("'%s --help' lists all commands", c.CommandPath())
		var names []string
		for _, sub := range c.Commands() {
			names = append(names, sub.Name())
		}
		if meant := config.Nearest(args[0], names); meant != "" {
			remedy = fmt.Sprintf("did you mean '%s %s'?", c.CommandPath(), meant)
		}
		return fmt.Errorf("unknown command %q: %s", c.CommandPath()+" "+args[0], remedy)
	}
	return fmt.Errorf("'%s' takes no argument: got %q", c.CommandPath(), args[0])
}

// oneArg returns a check that a command line has exactly one argument, called what.
func oneArg(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("'%s' takes one argument, %s: got %d", c.CommandPath(), what, len(args))
	}
}

// atMostOneArg returns a check that a command line has at most one argument, called what.
func atMostOneArg(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return fmt.Errorf("'%s' takes one %s: got %d, put the text in quotes", c.CommandPath(), what, len(args))
	}
}

func ms(d time.Duration) uint64 { return uint64(d.Milliseconds()) }

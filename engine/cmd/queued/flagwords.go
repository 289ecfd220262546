package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pronybench/prony/engine/config"
)

// flagError rewrites an error of the flag parser in the style of other errors, for example
// `--delay: "10" has no unit: write "10s" for seconds`.
func flagError(c *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &bad):
		cause := bad.Unwrap()
		if bad.GetFlag().Value.Type() == "bool" {
			cause = errors.New("is neither true nor false")
		}
		return fmt.Errorf("--%s: %q %w", bad.GetFlag().Name, bad.GetValue(), cause)
	case errors.As(err, &unknown):
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			if c.Annotations[tokenKey] != "" && strings.ContainsAny(short[:1], "0123456789") {
				return badToken("-" + short)
			}
			return fmt.Errorf("unknown flag: -%s: '%s --help' lists all flags", short, c.CommandPath())
		}
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if meant := config.Nearest(unknown.GetSpecifiedName(), names); meant != "" {
			return fmt.Errorf("unknown flag: --%s: did you mean --%s?", unknown.GetSpecifiedName(), meant)
		}
		return fmt.Errorf("unknown flag: --%s: '%s --help' lists all flags", unknown.GetSpecifiedName(), c.CommandPath())
	}
	return err
}

// fieldFlags maps fields of calls to their flags, for flags whose names differ from the field's by
// more than the unit.
var fieldFlags = map[string]string{
	"history_tasks_max":          "history-max",
	"backoff.initial_ms":         "backoff-initial",
	"backoff.max_ms":             "backoff-max",
	"backoff.multiplier_percent": "backoff-multiplier",
	"backoff.jitter_percent":     "backoff-jitter",
	"limit.leased_max":           "leased-max",
	"limit.rate_per_s":           "rate",
	"limit.burst":                "burst",
	"group_limit.leased_max":     "group-leased-max",
	"group_limit.rate_per_s":     "group-rate",
	"group_limit.burst":          "group-burst",
	"idempotency_key":            "key",
	"max_tasks":                  "max",
	"headers":                    "header",
	"unique.scope":               "unique",
	"unique.window_ms":           "key-window",
	"unique.conflict":            "on-conflict",
}

// These expressions match numbers in a server's refusals.
var (
	anyNumber  = regexp.MustCompile(`\d+`)
	byteCounts = regexp.MustCompile(`(\d+) bytes|at most (\d+)`)
	msCounts   = regexp.MustCompile(`(\d+) ms`)
	unixTimes  = regexp.MustCompile(`, Unix milliseconds: \d+`)
)

// inFlags rewrites the server's refusal of a field for the command line. It replaces the field's
// name with the name of its flag, and adds units to durations, times and sizes. It does not change
// the refusal of a field without a flag.
func inFlags(c *cobra.Command, field, message string) string {
	if field == "" {
		return message
	}
	before, problem, found := strings.Cut(message, field+": ")
	if !found {
		return message
	}
	inner := field
	for _, prefix := range []string{"policy.", "quotas.", "spec.", "task."} {
		inner = strings.TrimPrefix(inner, prefix)
	}
	inner, entry, _ := strings.Cut(inner, "[") // "headers[kind]" is an entry of a map, "after[1]" of a list
	entry = strings.TrimSuffix(entry, "]")
	if strings.Trim(entry, "0123456789") == "" {
		entry = ""
	}
	name, known := fieldFlags[inner]
	if !known {
		name = strings.ReplaceAll(strings.TrimSuffix(inner, "_ms"), "_", "-")
	}
	if c.Flags().Lookup(name) != nil {
		field = strings.TrimSpace("--" + name + " " + entry)
	}
	return before + field + ": " + withUnits(name, field, problem)
}

func withUnits(name, field, problem string) string {
	switch {
	case name == "payload" || name == "result":
		return byteCounts.ReplaceAllStringFunc(problem, func(text string) string {
			return anyNumber.ReplaceAllStringFunc(strings.TrimSuffix(text, " bytes"), sizeOf)
		})
	case !strings.HasPrefix(field, "--"):
		return problem
	case name == "not-before":
		problem = msCounts.ReplaceAllStringFunc(problem, func(text string) string { return spanOf(strings.TrimSuffix(text, " ms")) })
		return unixTimes.ReplaceAllStringFunc(problem, func(text string) string { return ": " + timeOf(anyNumber.FindString(text)) })
	case name == "backoff-multiplier": // the field is in percent
		return anyNumber.ReplaceAllStringFunc(problem, percentOf)
	case name == "backoff-initial":
		problem = strings.ReplaceAll(problem, "backoff.max_ms, ", "--backoff-max, ")
		fallthrough
	case name == "delay" || name == "lease" || name == "ttl" || name == "result-retention" || name == "wait" || name == "grace" ||
		name == "expires-in" || name == "backoff-max" || name == "key-window" || name == "interval" || name == "jitter":
		return anyNumber.ReplaceAllStringFunc(problem, durationOf)
	}
	return problem
}

// durationOf formats a number of milliseconds as the value of a duration flag. If the number
// exceeds the range of time.Duration, it returns the number followed by "ms".
func durationOf(text string) string {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > int64(1<<63-1)/int64(time.Millisecond) {
		return text + "ms"
	}
	return config.FormatDuration(time.Duration(n) * time.Millisecond)
}

// spanOf formats a number of milliseconds for people, such as "1160d 2h18m". It omits small parts,
// and the number of days is unlimited.
func spanOf(text string) string {
	const dayMs = int64(24 * time.Hour / time.Millisecond)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return text + "ms"
	}
	if n < dayMs {
		return config.FormatDuration((time.Duration(n) * time.Millisecond).Round(time.Second))
	}
	days, rest := n/dayMs, (time.Duration(n%dayMs) * time.Millisecond).Truncate(time.Minute)
	if rest == 0 {
		return strconv.FormatInt(days, 10) + "d"
	}
	return strconv.FormatInt(days, 10) + "d " + config.FormatDuration(rest)
}

func percentOf(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(n/100, 'f', -1, 64)
}

func sizeOf(text string) string {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return text
	}
	return config.FormatSize(n)
}

func timeOf(text string) string {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return text
	}
	return time.UnixMilli(n).UTC().Format(time.RFC3339)
}

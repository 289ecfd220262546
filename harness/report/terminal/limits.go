package terminal

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
)

// Limits explains the limits of a scenario as plain text: the scenario and its
// configuration, then each limit with one line for each known property, and the implied limits in
// short. It ends with a newline.
func Limits(e gate.ExplainedLimits) string {
	var b strings.Builder
	written := 0
	for _, l := range e.Limits {
		if !l.Implied {
			written++
		}
	}
	fmt.Fprintf(&b, "%s: %s, and %d that apply to every scenario\n", e.Scenario, render.Plural(written, "limit"), len(e.Limits)-written)
	for _, line := range configurationLines(e) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	for _, problem := range e.Problems {
		fmt.Fprintf(&b, "  wrong: %s\n", problem)
	}
	for _, l := range e.Limits {
		if l.Implied {
			continue
		}
		fmt.Fprintf(&b, "\n  %s on %s, %s\n", l.Kind, l.Name(), l.Where)
		line := func(key, text string) {
			if text != "" {
				fmt.Fprintf(&b, "    %-9s %s\n", key, text)
			}
		}
		line("means", fmt.Sprintf("%s, in %s; better when %s", l.Meaning, l.Unit, l.Better))
		line("limit", l.Bound())
		line("observed", observedInWords(l))
		line("margin", l.Margin())
		line("because", l.Because)
	}
	b.WriteString("\n")
	for _, l := range e.Limits {
		if l.Implied {
			fmt.Fprintf(&b, "  %s on %s, which is in no file: %s; %s\n", l.Kind, l.Name(), l.Bound(), l.Because)
		}
	}
	return b.String()
}

// configurationLines describe a baseline's configuration, and whether the scenario's file still has
// it.
func configurationLines(e gate.ExplainedLimits) []string {
	switch {
	case e.Baseline == "":
		return []string{"no baseline: the limits are in " + e.File + ", and each run stores them, for any configuration"}
	case e.File == "":
		return []string{"baseline " + e.Baseline, "no scenario file has the name: no run can be judged"}
	case e.Configuration == "":
		return []string{"baseline " + e.Baseline + ", without a configuration: prony baseline propose --write " + e.File + " adds it"}
	case e.Matches:
		return []string{fmt.Sprintf("baseline %s, for the configuration %s, which is that of %s", e.Baseline, e.Configuration, e.File)}
	default:
		return []string{
			fmt.Sprintf("baseline %s, for the configuration %s, and %s has %s", e.Baseline, e.Configuration, e.File, e.Present),
			"so prony check rejects a run of the current file: check that the limits still suit it, then run prony baseline propose --write " + e.File,
		}
	}
}

func observedInWords(l gate.ExplainedLimit) string {
	switch {
	case l.Observed != nil && l.Relative:
		return fmt.Sprintf("%s times, on %s", render.Digits(*l.Observed, 4), l.On)
	case l.Observed != nil:
		return fmt.Sprintf("%s %s on %s", render.Digits(*l.Observed, 4), l.Unit, l.On)
	case l.Unobserved != "":
		return "nothing: " + l.Unobserved
	case l.Limit == 0:
		return ""
	}
	return "not recorded"
}

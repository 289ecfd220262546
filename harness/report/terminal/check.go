// Package terminal writes judgements as plain text for a terminal or a log.
package terminal

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/gate"
)

// Check renders the judgement of a result as plain text: the verdict,
// the reasons that are not limits, one line for each limit, and where to look. It ends with a
// newline.
func Check(r gate.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", cmp.Or(r.Scenario, "unknown scenario"), r.Verdict)
	found := map[string]bool{}
	for _, f := range r.Findings {
		found[f.Sentence] = true
	}
	for _, reason := range r.Reasons {
		if !found[reason] {
			fmt.Fprintf(&b, "  %s\n", reason)
		}
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "  %s\n", warning)
	}
	for _, f := range r.Findings {
		mark := "FAIL"
		switch {
		case !f.Judged:
			mark = "-   "
		case f.OK:
			mark = "ok  "
		case f.Inconclusive:
			mark = "?   "
		}
		fmt.Fprintf(&b, "  %s  %s%s\n", mark, f.Sentence, marginText(f))
	}
	if len(r.Where) > 0 {
		b.WriteString("  where to look, in the profiled rounds:\n")
		for _, line := range r.Where {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	return b.String()
}

// marginText returns the suffix for a limit that has a margin.
func marginText(f gate.Finding) string {
	if f.Margin == nil {
		return ""
	}
	return fmt.Sprintf(" (margin %.0f %%)", 100**f.Margin)
}

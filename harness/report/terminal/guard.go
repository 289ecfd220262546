package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// Guarded is the judgement of one of the scenarios of prony guard.
type Guarded struct {
	gate.Report
	Folder string // folder of the run or the duet, "" if the measurement is incomplete
	Alone  string // the command that guards only this scenario
	// Loss describes in one sentence the loss relative to the baseline build, and where it is; ""
	// without a loss.
	Loss string
	// Disturbances is the number of slices that the host or a server disturbed. The page of the
	// folder lists them.
	Disturbances int
	// Foreign lists the other processes with the most CPU time.
	Foreign []result.ForeignProcess
	// Profiles is the folder of the run with profiles after a broken limit, or "". NoProfiles is
	// the reason for "".
	Profiles, NoProfiles string
}

// Guard renders the judgements of several scenarios as plain text: what judged the speed, a
// line for each scenario, then for each failed scenario the broken limits, where to look and how to
// measure it alone, and the total verdict. It ends with a newline.
func Guard(judgedBy string, all []Guarded, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", judgedBy)
	rows := make([][]string, 0, len(all))
	passed, verdicts := 0, make([]result.Verdict, 0, len(all))
	for _, g := range all {
		rows = append(rows, []string{g.Scenario, string(g.Verdict), findingsText(g)})
		verdicts = append(verdicts, g.Verdict)
		if g.Verdict == result.Pass {
			passed++
		}
	}
	b.WriteString(render.Table{Header: []string{"", "", ""}, Rows: rows}.Text("  "))
	for _, g := range all {
		if g.Verdict != result.Pass {
			b.WriteString("\n" + guardFailure(g))
		}
	}
	fmt.Fprintf(&b, "\n%d of %s passed in %v: %s\n", passed, render.Plural(len(all), "scenario"), took, result.Worst(verdicts...))
	return b.String()
}

// findingsText lists the ratios to the baseline build and the broken limits by name. It only counts
// the other limits.
func findingsText(g Guarded) string {
	var parts []string
	var kept, notJudged, counters int
	sound, atFault := false, false // of the counts of tasks at fault
	for _, f := range g.Findings {
		name := f.Metric
		for _, of := range []string{f.Workload, f.Point} {
			if of != "" {
				name = of + " " + name
			}
		}
		spec, _ := result.Lookup(f.Metric)
		broken := "BROKEN"
		if f.Inconclusive {
			broken = "UNDECIDED"
		}
		switch {
		case spec.OfLedger() && f.OK:
			sound = true
		case !f.Judged:
			notJudged++
		case f.OfWork() && f.OK:
			counters++
		case f.OfBaseline != nil && f.OK:
			parts = append(parts, name+" x"+render.Digits(f.OfBaseline.Ratio, 3))
		case f.OfBaseline != nil:
			parts = append(parts, fmt.Sprintf("%s x%s %s", name, render.Digits(f.OfBaseline.Ratio, 3), broken))
		case f.OK:
			kept++
		default:
			atFault = atFault || spec.OfLedger()
			parts = append(parts, name+" "+broken)
		}
	}
	for _, c := range []struct {
		n    int
		text string
	}{
		{counters, render.Plural(counters, "counter") + " of fixed work kept"},
		{kept, render.Plural(kept, "other limit") + " kept"},
		{notJudged, render.Count(notJudged) + " not judged"},
		{g.Disturbances, render.Plural(g.Disturbances, "slice") + " disturbed"},
	} {
		if c.n > 0 {
			parts = append(parts, c.text)
		}
	}
	if sound && !atFault {
		parts = append(parts, "no task at fault")
	}
	return strings.Join(parts, ", ")
}

// guardFailure describes a failed scenario: the broken limits, where to look, and the command to
// repeat it.
func guardFailure(g Guarded) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", g.Scenario, g.Verdict)
	if g.Loss != "" {
		fmt.Fprintf(&b, "  %s\n", g.Loss)
	}
	for _, reason := range g.Reasons {
		fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(reason, "\n", "\n  "))
	}
	if who := result.ForeignText(g.Foreign); who != "" && (g.Verdict == result.Invalid || g.Verdict == result.Inconclusive) {
		fmt.Fprintf(&b, "  other processes used these shares of all CPUs' time: %s\n", who)
	}
	switch {
	case len(g.Where) > 0:
		b.WriteString("  where to look:\n")
		for _, line := range g.Where {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	case g.NoProfiles != "":
		fmt.Fprintf(&b, "  where to look: %s\n", g.NoProfiles)
	}
	if g.Folder != "" {
		fmt.Fprintf(&b, "  run: %s\n", g.Folder)
	}
	if g.Profiles != "" {
		fmt.Fprintf(&b, "  run with profiles: %s\n", g.Profiles)
	}
	fmt.Fprintf(&b, "  again: %s\n", g.Alone)
	return b.String()
}

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// Guarded is the judgement of one scenario of several that were run to be judged.
type Guarded struct {
	gate.Report
	Folder string // of the run, "" if it was not measured to its end
	Alone  string // the command that runs and judges the scenario alone
	// Unsteady is whether the rate rose or fell within the windows of most rounds.
	Unsteady bool
	// FewBroke is whether at most DoubtfulMax scenarios broke a limit.
	FewBroke bool
	// First is the judgement of the first run, if this is that of the second; nil otherwise.
	First *Guarded
	// Profiles is the folder of the run that took profiles after a limit was broken, "" without one; NoProfiles says why there is none.
	Profiles, NoProfiles string
}

// DoubtfulMax is the highest number of scenarios with a broken limit at which a slow host is a likely reason. A change that makes the servers slow
// breaks limits in more scenarios.
const DoubtfulMax = 2

// Doubt says why the scenario is worth a second run, as in "was invalid"; "" if its verdict stands. A run that broke a limit while its rate was
// unsteady may have met a stall of the host. A run that broke limits on rates and times only, while at most one other scenario broke a limit, may
// have met a host that was slow for some seconds: two virtual CPUs shared a core, or another guest used the caches. A verdict about a task at fault
// or a counter is never doubted.
func (g *Guarded) Doubt() string {
	switch {
	case g.Verdict == result.Invalid:
		return "was invalid"
	case g.Verdict == result.Regressed && g.Unsteady:
		return "broke a limit while the rate of most rounds rose or fell within the window"
	case g.Verdict == result.Regressed && g.FewBroke && g.brokeSpeedAlone():
		return "broke limits on rates and times only, as it may on a host that is slow for some seconds"
	}
	return ""
}

// brokeSpeedAlone reports whether all broken limits are on rates and times, and the run has a figure for each.
func (g *Guarded) brokeSpeedAlone() bool {
	broken := 0
	for _, f := range g.Findings {
		if !f.Judged || f.OK {
			continue
		}
		spec, _ := result.Lookup(f.Metric)
		if f.Value == nil || !slices.Contains([]string{"1/s", "us", "ms", "s"}, spec.Unit) {
			return false
		}
		broken++
	}
	return broken > 0
}

// GuardText renders the judgements of several scenarios as plain text: a line for each scenario with the margin to each limit, then for each
// that did not pass what broke, where to look and how to run it alone, and last the verdict of all. It ends with a newline.
func GuardText(all []Guarded, took time.Duration) string {
	var b strings.Builder
	b.WriteString("How far each figure is from its limit, in per cent of the limit:\n")
	rows := make([][]string, 0, len(all))
	passed, verdicts := 0, make([]result.Verdict, 0, len(all))
	for _, g := range all {
		rows = append(rows, []string{g.Scenario, string(g.Verdict), margins(g.Findings)})
		verdicts = append(verdicts, g.Verdict)
		if g.Verdict == result.Pass {
			passed++
		}
	}
	b.WriteString(render.Table{Header: []string{"", "", ""}, Rows: rows}.Text("  "))
	for _, g := range all {
		if g.First != nil {
			fmt.Fprintf(&b, "%s was run twice, because the first run %s: %s\n", g.Scenario, g.First.Doubt(), strings.Join(g.First.Reasons, "; "))
		}
	}
	for _, g := range all {
		if g.Verdict != result.Pass {
			b.WriteString("\n" + guardFailure(g))
		}
	}
	fmt.Fprintf(&b, "\n%d of %s passed in %v: %s\n", passed, render.Plural(len(all), "scenario"), took, result.Worst(verdicts...))
	return b.String()
}

// margins lists the margin to each limit, in the order of the findings. The counts of tasks at fault share one entry.
func margins(findings []gate.Finding) string {
	var parts []string
	sound, atFault := false, false // the counts of tasks at fault
	for _, f := range findings {
		name := f.Metric
		for _, of := range []string{f.Workload, f.Point} {
			if of != "" {
				name = of + " " + name
			}
		}
		if f.RelativeTo != "" {
			name += "/" + f.RelativeTo
		}
		spec, _ := result.Lookup(f.Metric)
		if spec.Promised && f.Kind == gate.Floor { // it has a ceiling too
			name += " (floor)"
		}
		switch {
		case spec.OfLedger() && f.OK:
			sound = true
		case !f.Judged:
			parts = append(parts, name+" not judged")
		case f.Margin == nil && f.OK:
			parts = append(parts, name+" kept")
		case f.Margin == nil:
			atFault = atFault || spec.OfLedger()
			parts = append(parts, name+" BROKEN")
		case f.OK:
			parts = append(parts, fmt.Sprintf("%s %.0f", name, 100**f.Margin))
		default:
			parts = append(parts, fmt.Sprintf("%s %.0f BROKEN", name, 100**f.Margin))
		}
	}
	if sound && !atFault {
		parts = append(parts, "no task at fault")
	}
	return strings.Join(parts, ", ")
}

// guardFailure says of a scenario that did not pass what broke, where to look, and what to run.
func guardFailure(g Guarded) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", g.Scenario, g.Verdict)
	for _, reason := range g.Reasons {
		fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(reason, "\n", "\n  "))
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

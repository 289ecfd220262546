package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// SummaryHeading is the heading of the section with a run's figures, on the run's page.
func SummaryHeading(r *result.Result) string {
	return fmt.Sprintf("Summary, durability %s%s", code(r.Manifest.Durability()), polling(r))
}

// PointHeading is the heading of the section with the figures of one point of a sweep, on the run's page.
func PointHeading(r *result.Result, point result.Point) string {
	return fmt.Sprintf("%s, durability %s", code(point.Name), code(PointDurability(r, point)))
}

// WorkloadsHeading is the heading of the section with the figures of each workload of a run with several.
func WorkloadsHeading(r *result.Result) string {
	return "Workloads, durability " + code(r.Manifest.Durability())
}

// The headings of the sections of a soak's page, with the durability that follows them.
const (
	soakSummaryHeading = "Summary, durability %s"
	soakDriftHeading   = "Drift, durability %s"
	soakLedgerHeading  = "Ledger of all windows, durability %s"
)

// SoakHeadings are the headings of the sections with a soak's figures: its metrics, by how much they drifted, and its counts of tasks.
func SoakHeadings(s *result.Soak) (summary, drift, ledger string) {
	durability := code(s.Manifest.Durability())
	return fmt.Sprintf(soakSummaryHeading, durability), fmt.Sprintf(soakDriftHeading, durability), fmt.Sprintf(soakLedgerHeading, durability)
}

// Windows says in how many timed rounds a figure was measured, and how long their windows were: "7 × 10 s". The point is 0 of a run
// without a sweep.
func Windows(r *result.Result, point int) string {
	var of []result.Round
	for _, round := range timedRounds(r) {
		if round.Point == point {
			of = append(of, round)
		}
	}
	return fmt.Sprintf("%d × %s", len(of), windows(of))
}

// SoakWindows says the same of a soak.
func SoakWindows(s *result.Soak) string {
	return fmt.Sprintf("%s × %s s", render.Count(s.Totals.Windows), render.Digits(s.WindowS, 3))
}

// Command is the command that measured, as Markdown, or "" if it was not recorded. Of a command with several files of scenarios it has the one of
// this run, and counts the others.
func Command(m result.Manifest) string {
	if len(m.Command) == 0 {
		return ""
	}
	if !slices.Contains(m.Command, m.Scenario.File) {
		return code(commandLine(m.Command))
	}
	others := 0
	own := slices.DeleteFunc(slices.Clone(m.Command), func(argument string) bool {
		other := filepath.Ext(argument) == ".hcl" && argument != m.Scenario.File
		if other {
			others++
		}
		return other
	})
	if others == 0 {
		return code(commandLine(own))
	}
	return code(commandLine(own)) + " and " + render.Plural(others, "other file")
}

// HostWords describes a host in one line of Markdown.
func HostWords(h result.Host) string {
	return strings.Join([]string{
		machine(h), text(strings.TrimSpace(h.OS + " " + h.Kernel)), "virtualisation " + text(orNotRecorded(h.Virtualisation)),
		"container " + text(orNotRecorded(h.Container)),
	}, ", ")
}

// TimedSettings are the settings of timed rounds that differ from their defaults.
func TimedSettings(s *scenario.Scenario) (all []scenario.Setting) {
	for _, setting := range s.Settings() {
		if setting.Default != "" && !setting.OfPlan() {
			all = append(all, setting)
		}
	}
	return all
}

// Value writes a value of a metric with a unit: counts exactly, all else with three digits.
func Value(unit string, v float64) string {
	switch unit {
	case "tasks", "items", "reads", "calls", "faults":
		return render.Whole(v)
	}
	return render.Number(v)
}

// Plan says how many rounds a run had, how long their windows were, and over how many points they are spread.
func Plan(r *result.Result) string { return plan(r.Rounds) + atPoints(r) }

package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// SummaryHeading returns the heading of the section with a run's figures on the run's page.
func SummaryHeading(r *result.Result) string {
	return fmt.Sprintf("Summary, durability %s%s", doc.Code(r.Manifest.Durability()), runs.Polling(r))
}

// PointHeading returns the heading of the section with the figures of one point of a sweep on the
// run's page.
func PointHeading(r *result.Result, point result.Point) string {
	return fmt.Sprintf("%s, durability %s", doc.Code(point.Name), doc.Code(PointDurability(r, point)))
}

// WorkloadsHeading returns the heading of the section with the figures of each workload of a run
// with several.
func WorkloadsHeading(r *result.Result) string {
	return "Workloads, durability " + doc.Code(r.Manifest.Durability())
}

// The formats of the headings on a soak's page. The argument is the durability.
const (
	soakSummaryHeading = "Summary, durability %s"
	soakDriftHeading   = "Drift, durability %s"
	soakLedgerHeading  = "Ledger of all windows, durability %s"
)

// SoakHeadings returns the headings of the sections with a soak's figures: its metrics, their
// drift, and its counts of tasks.
func SoakHeadings(s *result.Soak) (summary, drift, ledger string) {
	durability := doc.Code(s.Manifest.Durability())
	return fmt.Sprintf(soakSummaryHeading, durability), fmt.Sprintf(soakDriftHeading, durability), fmt.Sprintf(soakLedgerHeading, durability)
}

// Windows returns the number of timed rounds of a figure and the length of their windows, such as
// "7 × 10 s". The point is 0 for a run without a sweep.
func Windows(r *result.Result, point int) string {
	var of []result.Round
	for _, round := range runs.Timed(r) {
		if round.Point == point {
			of = append(of, round)
		}
	}
	return fmt.Sprintf("%d × %s", len(of), windows(of))
}

// SoakWindows is like Windows for a soak.
func SoakWindows(s *result.Soak) string {
	return fmt.Sprintf("%s × %s s", render.Count(s.Totals.Windows), render.Digits(s.WindowS, 3))
}

// Command returns the command that measured as Markdown, or "" if it was not recorded. If the
// command has several scenario files, it shows the file of this run, and the number of the others.
func Command(m result.Manifest) string {
	if len(m.Command) == 0 {
		return ""
	}
	if !slices.Contains(m.Command, m.Scenario.File) {
		return doc.Code(words.CommandLine(m.Command))
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
		return doc.Code(words.CommandLine(own))
	}
	return doc.Code(words.CommandLine(own)) + " and " + render.Plural(others, "other file")
}

// HostWords describes a host in one line of Markdown.
func HostWords(h result.Host) string {
	return strings.Join([]string{
		words.Machine(h), doc.Escape(strings.TrimSpace(h.OS + " " + h.Kernel)), "virtualisation " + doc.Escape(words.OrNotRecorded(h.Virtualisation)),
		"container " + doc.Escape(words.OrNotRecorded(h.Container)),
	}, ", ")
}

// TimedSettings returns the settings of timed rounds that differ from their defaults.
func TimedSettings(s *scenario.Scenario) (all []scenario.Setting) {
	for _, setting := range s.Settings() {
		if setting.Default != "" && !setting.OfPlan() {
			all = append(all, setting)
		}
	}
	return all
}

// Value formats a value of a metric with a unit: counts exactly, others with three digits.
func Value(unit string, v float64) string {
	switch unit {
	case "tasks", "items", "reads", "calls", "faults":
		return render.Whole(v)
	}
	return render.Number(v)
}

// Plan returns the number of rounds of a run, the length of their windows, and the number of
// points.
func Plan(r *result.Result) string { return plan(r.Rounds) + atPoints(r) }

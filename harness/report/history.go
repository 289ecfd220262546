package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/baselinebuild"
	"github.com/pronybench/prony/harness/history"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
)

const (
	// HistoryPage is the name of the page of the history.
	HistoryPage = "history.md"
	// historyDir is the folder of the records and of the page's plots, below that of the published
	// pages.
	historyDir = "history"
)

// HistoryFolder returns the folder with the records of published results below that of the pages.
func HistoryFolder(reportsDir string) string { return filepath.Join(reportsDir, historyDir) }

// RenderHistory writes the page of the records in the folder records, and of the baseline builds if
// builds is not nil, into the folder out. Its plots go to out/history, where it removes those of an
// earlier rendering. It returns the paths of the written files, the page first. The same records
// and builds always result in the same page.
func RenderHistory(records string, builds *baselinebuild.File, out string) ([]string, error) {
	all, err := history.ReadAll(records)
	if err != nil {
		return nil, err
	}
	tracked, err := history.TrackAll(history.Group(all))
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	plots, err := historyPlots(tracked)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if err := os.MkdirAll(HistoryFolder(out), 0o755); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if err := removeOtherPlots(out, plots); err != nil {
		return nil, fmt.Errorf("report: remove a plot of an earlier rendering: %w", err)
	}
	return writeFiles(out, HistoryPage, plots, historyMarkdown(tracked, builds, plots))
}

// removeOtherPlots removes the plots in out/history that are not among the given ones.
func removeOtherPlots(out string, plots []figure) error {
	old, err := filepath.Glob(filepath.Join(HistoryFolder(out), "*.svg"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if !slices.ContainsFunc(plots, func(f figure) bool { return f.svg != nil && filepath.Join(out, f.file) == path }) {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// historyMarkdown returns the page. plots[i] is the plot of series i.
func historyMarkdown(all []history.Tracked, builds *baselinebuild.File, plots []figure) string {
	p := &page{}
	p.heading(1, "The headline figures over commits")
	records, tested := 0, 0
	for _, t := range all {
		records += t.Records
		for _, track := range t.Tracks {
			if !track.TooFew {
				tested++
			}
		}
	}
	p.paragraph("%s of published runs, stored as lines of JSON in `%s/`: the figures of a page outlive the page. Records form one series if the scenario, the point of its"+
		" sweep, the durability, the host class, the CPU model and the settings are the same. Other records are never joined, because a step between hosts is not a step of the code.",
		render.Plural(records, "record"), historyDir)
	p.paragraph("Change points are from the E-divisive method over the medians of a series, with at least %d records on each side; a series of fewer than %d cannot have one."+
		" A figure without a change has a change point with a probability of at most %s. %s.", stat.ChangeMinSide, stat.ChangeMinN, render.PercentTo(stat.ChangeAlpha, 0), testedText(tested))
	p.paragraph("The drift is that of the newest record since the first one of the last tag, or since the first record if there is no tag. Drifts are marked as apart if the two" +
		" intervals do not overlap.")
	p.paragraph("Every published run has a record, with the verdict by the limits at the time of its publication. Each series lists its records that do not pass." +
		" An incorrect run has no figures.")
	if comparesWithBare(all) {
		p.paragraph("A ratio to %s is a share of the bare data path's rate, or a multiple of its CPU time. These ratios can be compared between hosts.", code(scenario.ReferenceBare))
	}
	p.heading(2, "Change points")
	p.list(changeItems(all))
	baselineBuildsSection(p, builds)
	for i, t := range all {
		if i == 0 || all[i-1].Scenario != t.Scenario {
			p.heading(2, "%s", code(t.Scenario))
		}
		seriesSection(p, t, plots[i])
	}
	p.heading(2, "What this does not measure")
	p.paragraph("A record is one run. Between two runs the host's state changes too, by more than the interval of a run shows, so a distance between two records is not a change of the" +
		" code. A ratio to a reference removes the speed of the host in the same minutes, as far as both depend on it in the same way. Latencies are from" +
		" closed and open loads, as the scenario defines them. Other products, servers on other hosts and soaks have no records. A sweep has records of its first and its last point.")
	return p.String()
}

func comparesWithBare(all []history.Tracked) bool {
	return slices.ContainsFunc(all, func(t history.Tracked) bool {
		return slices.ContainsFunc(t.Tracks, func(track history.Track) bool { return track.RelativeTo == scenario.ReferenceBare })
	})
}

// testedText reports the number of tests, and thus the expected number of false alarms.
func testedText(tested int) string {
	if tested == 0 {
		return "No figure has enough records yet"
	}
	return fmt.Sprintf("%s enough records; without any change, at most %s change points by chance are expected",
		pluralHas(tested, "figure"), render.Digits(float64(tested)*stat.ChangeAlpha, 2))
}

func pluralHas(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " has"
	}
	return render.Plural(n, noun) + " have"
}

// changeItems lists the change points of all series with their location.
func changeItems(all []history.Tracked) (items []string) {
	for _, t := range all {
		for _, track := range t.Tracks {
			for _, c := range track.Changes {
				items = append(items, fmt.Sprintf("%s: %s %s", strings.Join(keyParts(t.Key, code), ", "), trackName(track, code), changeText(track, c, code)))
			}
		}
	}
	if len(items) == 0 {
		items = []string{"None was found."}
	}
	return items
}

// seriesSection shows one series: its plot, and the figures of its newest record with the ones that
// they drifted from.
func seriesSection(p *page, t history.Tracked, plot figure) {
	p.heading(3, "%s", strings.Join(keyParts(t.Key, code)[1:], ", "))
	if not := notPassText(t, code); not != "" {
		p.paragraph("Records that do not pass: %s.", not)
	}
	if len(t.Tracks) == 0 {
		p.paragraph("An incorrect run has no figures.")
		return
	}
	if t.Records == 1 { // one record has no drift, and the record itself has the other figures
		first := t.Tracks[0]
		newest := first.Samples[0]
		p.paragraph("%s %s %s at commit %s. %s", code(first.Metric), sampleText(newest), text(first.Unit), code(render.Commit(newest.Commit)), tooFewText(t, code))
		return
	}
	if plot.svg != nil {
		p.paragraph("![%s](%s)", plot.caption, plot.file)
	}
	var rows [][]string
	for _, track := range t.Tracks {
		newest := track.Samples[len(track.Samples)-1]
		row := []string{trackName(track, code), text(track.Unit), fmt.Sprint(len(track.Samples) + track.Older), none, none, none, none}
		if d := track.Drift; d != nil {
			row[3], row[4], row[5], row[6] = sinceText(d, code), sampleText(d.From), driftText(track), apartText(d)
		}
		rows = append(rows, append(row, code(render.Commit(newest.Commit)), sampleText(newest)))
	}
	p.table([]string{"figure", "unit", ">records", "drift since", ">then", ">drift", "intervals", "newest commit", ">newest"}, rows)
	if few := tooFewText(t, code); few != "" {
		p.paragraph("%s", few)
	}
}

// plotted are the figures in the plot of a series.
var plotted = []string{
	result.CyclesPerS, result.EnqueuesPerS, result.ServerCPUUsPerCycle, result.CycleLatencyMs + "_p50", result.CycleLatencyMs + "_p99", result.ServerRSSMBMax,
}

// Package historypage writes the page of the history of published results: the figures over
// commits, change points, and the moves of the baseline build.
package historypage

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
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
)

const (
	// Name is the name of the page.
	Name = "history.md"
	// dir is the folder of the records and of the page's plots, below that of the published pages.
	dir = "history"
)

// Folder returns the folder with the records of published results below that of the pages.
func Folder(reportsDir string) string { return filepath.Join(reportsDir, dir) }

// Render writes the page of the records in the folder records, and of the baseline builds if builds
// is not nil, into the folder out. Its plots go to out/history, where it removes those of an
// earlier rendering. It returns the paths of the written files, the page first. The same records
// and builds always result in the same page.
func Render(records string, builds *baselinebuild.File, out string) ([]string, error) {
	all, err := history.ReadAll(records)
	if err != nil {
		return nil, err
	}
	tracked, err := history.TrackAll(history.Group(all))
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	figures, err := drawn(tracked)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if err := os.MkdirAll(Folder(out), 0o755); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if err := removeOtherPlots(out, figures); err != nil {
		return nil, fmt.Errorf("report: remove a plot of an earlier rendering: %w", err)
	}
	return doc.Write(out, Name, figures, page(tracked, builds, figures, sampleText).Markdown())
}

// Brief returns the page without plots, and with medians without their intervals.
func Brief(all []history.Tracked, builds *baselinebuild.File) *doc.Document {
	return page(all, builds, make([]doc.Figure, len(all)), func(s history.Sample) string { return render.Number(s.Median) })
}

// removeOtherPlots removes the plots in out/history that are not among the given ones.
func removeOtherPlots(out string, plots []doc.Figure) error {
	old, err := filepath.Glob(filepath.Join(Folder(out), "*.svg"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if !slices.ContainsFunc(plots, func(f doc.Figure) bool { return f.SVG != nil && filepath.Join(out, f.File) == path }) {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// page returns the page. plots[i] is the plot of series i, and level formats the figures of a
// series.
func page(all []history.Tracked, builds *baselinebuild.File, plots []doc.Figure, level func(history.Sample) string) *doc.Document {
	p := &doc.Document{}
	p.Heading(1, "The headline figures over commits")
	records, tested := 0, 0
	for _, t := range all {
		records += t.Records
		for _, track := range t.Tracks {
			if !track.TooFew {
				tested++
			}
		}
	}
	p.Note("%s of published runs, stored as lines of JSON in `%s/`: the figures of a page outlive the page. Records form one series if the scenario, the point of its"+
		" sweep, the durability, the host class, the CPU model and the settings are the same. Other records are never joined, because a step between hosts is not a step of the code.",
		render.Plural(records, "record"), dir)
	p.Note("Change points are from the E-divisive method over the medians of a series, with at least %d records on each side; a series of fewer than %d cannot have one."+
		" A figure without a change has a change point with a probability of at most %s. %s.", stat.ChangeMinSide, stat.ChangeMinN, render.PercentTo(stat.ChangeAlpha, 0), testedText(tested))
	p.Note("The drift is that of the newest record since the first one of the last tag, or since the first record if there is no tag. Drifts are marked as apart if the two" +
		" intervals do not overlap.")
	p.Note("Every published run has a record, with the verdict by the limits at the time of its publication. Each series lists its records that do not pass." +
		" An incorrect run has no figures.")
	if comparesWithBare(all) {
		p.Note("A ratio to %s is a share of the bare data path's rate, or a multiple of its CPU time. These ratios can be compared between hosts.", doc.Code(scenario.ReferenceBare))
	}
	p.Heading(2, "Change points")
	p.List(changeItems(all))
	baselineBuildsSection(p, builds)
	for i, t := range all {
		if i == 0 || all[i-1].Scenario != t.Scenario {
			p.Heading(2, "%s", doc.Code(t.Scenario))
		}
		seriesSection(p, t, plots[i], level)
	}
	p.Heading(2, "What this does not measure")
	p.Note("A record is one run. Between two runs the host's state changes too, by more than the interval of a run shows, so a distance between two records is not a change of the" +
		" code. A ratio to a reference removes the speed of the host in the same minutes, as far as both depend on it in the same way. Latencies are from" +
		" closed and open loads, as the scenario defines them. Other products, servers on other hosts and soaks have no records. A sweep has records of its first and its last point.")
	return p
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
				items = append(items, fmt.Sprintf("%s: %s %s", strings.Join(keyParts(t.Key), ", "), trackName(track), changeText(track, c)))
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
func seriesSection(p *doc.Document, t history.Tracked, plot doc.Figure, level func(history.Sample) string) {
	p.Heading(3, "%s", strings.Join(keyParts(t.Key)[1:], ", "))
	if not := notPassText(t); not != "" {
		p.Paragraph("Records that do not pass: %s.", not)
	}
	if len(t.Tracks) == 0 {
		p.Paragraph("An incorrect run has no figures.")
		return
	}
	if t.Records == 1 { // one record has no drift, and the record itself has the other figures
		first := t.Tracks[0]
		newest := first.Samples[0]
		p.Paragraph("%s %s %s at commit %s. %s", doc.Code(first.Metric), level(newest), doc.Escape(first.Unit), doc.Code(render.Commit(newest.Commit)), tooFewText(t))
		return
	}
	if plot.SVG != nil {
		p.Plot(plot.Caption, plot.File, "")
	}
	var rows [][]string
	for _, track := range t.Tracks {
		newest := track.Samples[len(track.Samples)-1]
		row := []string{trackName(track), doc.Escape(track.Unit), fmt.Sprint(len(track.Samples) + track.Older), doc.None, doc.None, doc.None, doc.None}
		if d := track.Drift; d != nil {
			row[3], row[4], row[5], row[6] = sinceText(d), level(d.From), driftText(d), apartText(d)
		}
		rows = append(rows, append(row, doc.Code(render.Commit(newest.Commit)), level(newest)))
	}
	p.Table([]string{"figure", "unit", ">records", "drift since", ">then", ">drift", "intervals", "newest commit", ">newest"}, rows)
	if few := tooFewText(t); few != "" {
		p.Paragraph("%s", few)
	}
}

// plotted are the figures in the plot of a series.
var plotted = []string{
	result.CyclesPerS, result.EnqueuesPerS, result.ServerCPUUsPerCycle, result.CycleLatencyMs + "_p50", result.CycleLatencyMs + "_p99", result.ServerRSSMBMax,
}

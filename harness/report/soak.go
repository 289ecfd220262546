package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// renderSoak writes the page and the plots of the soak in the folder in, as Render does for a run.
func renderSoak(in, out string) ([]string, error) {
	s, err := result.ReadSoak(in)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	figures, err := soakFigures(s)
	if err != nil {
		return nil, fmt.Errorf("report on %s: %w", in, err)
	}
	return write(in, out, result.Slug(s.Scenario), RunPage, figures, soakPage(s, figures))
}

// publishSoak copies the result of a soak to the published data, and renders its page from the
// copy.
func publishSoak(dir, reportsDir string) ([]string, error) {
	s, err := result.ReadSoak(dir)
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	reasons := soakUnpublishable(s)
	if why := incompleteBy(s.Verdict, s.Reasons); why != "" {
		reasons = append(reasons, why)
	}
	return publishCopy(dir, reportsDir, result.Slug(s.Scenario), []string{result.SoakFile}, reasons)
}

// soakFigures makes the plots of a soak, one for each figure, over its measured time and from zero.
func soakFigures(s *result.Soak) (all []doc.Figure, err error) {
	for _, of := range scenario.SoakFigures {
		c := soakChart(s, of)
		f, err := drawn(s.Verdict, c.Plot, soakTitles[of].title+" over the measured time, for the judged windows",
			func() ([]byte, error) { return c.Draw(s.MeasuredS/perMinute, 1.2, false) })
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// soakReasons returns the reasons for a soak's verdict, with those of figures that have a better
// verdict than the soak at the end.
func soakReasons(s *result.Soak) (reasons []string) {
	var last []string
	for _, reason := range s.Reasons {
		if slices.ContainsFunc(s.Drifts, func(d result.SoakDrift) bool { return d.Sentence == reason && d.Verdict != s.Verdict }) {
			last = append(last, reason)
		} else {
			reasons = append(reasons, reason)
		}
	}
	return append(reasons, last...)
}

// soakUnpublishable returns the reasons why a soak is below the standard of published figures.
func soakUnpublishable(s *result.Soak) []string {
	reasons := s.Manifest.Unpublishable()
	if soak := s.Manifest.Scenario.Soak; soak != nil && s.ForS < soak.For.Seconds() {
		reasons = append(reasons, fmt.Sprintf("a soak of %s instead of the %s of the scenario's file", soakSpan(s.ForS), soak.For))
	}
	return reasons
}

func soakPage(s *result.Soak, plots []doc.Figure) *doc.Document {
	p := &doc.Document{}
	durability := s.Manifest.Durability()
	p.Heading(1, "%s", doc.Escape(s.Title))
	p.Paragraph("Verdict: **%s**. Scenario %s, durability %s: one start of the servers and %s of %s in sequence, %s of measured time in total.",
		doc.Escape(string(s.Verdict)), doc.Code(s.Scenario), doc.Code(durability), render.Plural(s.Totals.Windows, "window"), soakSpan(s.WindowS), soakSpan(s.MeasuredS))
	if reasons := soakUnpublishable(s); len(reasons) > 0 {
		p.Paragraph("**Below the standard for published figures: %s.** Measure the scenario again before you rely on them.", doc.Escape(strings.Join(reasons, "; ")))
	}
	p.Listed("Reasons for the verdict:", s.Reasons)
	p.Listed("Warnings:", s.Warnings)
	if s.Verdict == result.Incorrect {
		p.Paragraph("The ledger of this soak does not balance, so no figure of it is published. The account of the tasks follows.")
	} else {
		soakSummary(p, s, durability)
		soakDrifts(p, s, durability)
		soakPlots(p, plots, durability)
		soakProcesses(p, s, durability)
		soakRecovery(p, s, durability)
	}
	soakWindows(p, s)
	soakLedger(p, s, durability)
	soakEvents(p, s)
	like := &result.Result{Run: s.Scenario, Scenario: s.Scenario, Manifest: s.Manifest, Started: s.Started, Finished: s.Finished}
	scenarioSection(p, like)
	provenanceTable(p, like, []string{"windows", fmt.Sprintf("%s of %s", render.Count(s.Totals.Windows), soakSpan(s.WindowS))})
	p.Heading(2, "What this page does not measure")
	p.List([]string{
		"Whether a figure changes within a window: each window is one value.",
		"Changes that take longer than the soak, or that a restart of the servers undoes.",
		"Another day and another host.",
		"The time between two windows, in which the load drains.",
	})
	return p
}

func soakSpan(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

func soakSummary(p *doc.Document, s *result.Soak, durability string) {
	var rows [][]string
	for _, spec := range result.Specs() {
		if value, has := s.Totals.Metrics[spec.Name]; has {
			rows = append(rows, []string{doc.Code(spec.Name), render.Number(value), words.Unit(spec.Unit)})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.Heading(2, soakSummaryHeading, doc.Code(durability))
	p.Table([]string{"metric", ">value", "unit"}, rows)
	p.Paragraph("Over all %s that are judged: the percentiles are those of their merged latencies. All values: durability %s, revision %s, %s.",
		render.Plural(s.Totals.Judged, "window"), doc.Code(durability), doc.Code(s.Manifest.Build.Revision()), words.Machine(s.Manifest.Host))
}

func soakDrifts(p *doc.Document, s *result.Soak, durability string) {
	if len(s.Drifts) == 0 {
		return
	}
	p.Heading(2, soakDriftHeading, doc.Code(durability))
	var rows [][]string
	for _, d := range s.Drifts {
		change := []string{"", "", "", ""}
		if d.WorsePercent != nil {
			change = []string{SoakPercent(*d.WorsePercent), SoakPercent(*d.LowPercent), SoakPercent(*d.HighPercent), soakP(*d.P)}
		}
		row := []string{doc.Code(d.Figure), words.Unit(d.Unit), render.Number(d.Mean), render.Number(d.First), render.Number(d.Last)}
		rows = append(rows, append(append(row, change...), render.Digits(d.LimitPercent, 3), doc.Escape(string(d.Verdict))))
	}
	p.Table([]string{"figure", "unit", ">mean", ">first", ">last", ">change for the worse, %", ">low, %", ">high, %", ">p", ">limit, %", "verdict"}, rows)
	if s.Version < result.SoakOneLevel {
		p.Paragraph("First and last cover the first and the last %s of judged windows. A line through %s gives the change for the worse, in percent of the"+
			" mean; below 0 the figure became better. Low and high are its one-sided 95 %% bounds by a moving-block bootstrap. p is the probability of such a"+
			" change by chance alone, corrected for %d figures (Holm). A figure passes if the high bound is below the limit.",
			soakSpan(s.Drifts[0].SpanS), render.Plural(s.Drifts[0].Values, "value"), len(s.Drifts))
		return
	}
	p.Paragraph("First and last cover the first and the last %s of judged windows. A line through %s gives the change for the worse from start to end, in"+
		" percent of the start; below 0 the figure became better. Low is its lower bound, at 95 %% for all %d figures together, and high its upper bound,"+
		" at 95 %% for each figure, by a moving-block bootstrap. p is the probability of such a change by chance alone, corrected for the number of figures"+
		" (Holm). A figure passes if the high bound is below the limit, and is regressed if the low bound is above it.",
		soakSpan(s.Drifts[0].SpanS), render.Plural(s.Drifts[0].Values, "value"), len(s.Drifts))
}

// soakP formats a probability, which may be tiny.
func soakP(p float64) string {
	if p < 0.001 {
		return "below 0.001"
	}
	return render.Digits(p, 2)
}

// SoakPercent formats a change of a soak in percent, with two decimals.
func SoakPercent(v float64) string {
	if text := fmt.Sprintf("%.2f", v); text != "-0.00" {
		return text
	}
	return "0.00"
}

func soakPlots(p *doc.Document, plots []doc.Figure, durability string) {
	plots = slices.DeleteFunc(slices.Clone(plots), func(f doc.Figure) bool { return f.SVG == nil })
	if len(plots) == 0 {
		return
	}
	p.Heading(2, "Over the measured time, durability %s", doc.Code(durability))
	for _, f := range plots {
		p.Plot(f.Caption, f.File, "")
	}
}

// soakProcesses shows the resources of each process in the first and in the last judged windows.
func soakProcesses(p *doc.Document, s *result.Soak, durability string) {
	var first, last *result.SoakPoint
	for i := range s.Points {
		if point := &s.Points[i]; point.Judged > 0 {
			if first == nil {
				first = point
			}
			last = point
		}
	}
	if first == nil {
		return
	}
	var rows [][]string
	for _, of := range []struct {
		name  string
		point *result.SoakPoint
	}{{"first", first}, {"last", last}} {
		for _, process := range of.point.Processes {
			disk := ""
			if process.DiskMB > 0 {
				disk = render.Number(process.DiskMB)
			}
			rows = append(rows, []string{
				doc.Code(process.Name), of.name, render.Number(process.RSSMB), render.Number(process.FDs), render.Number(process.Goroutines), disk,
			})
		}
	}
	p.Heading(2, "Processes, durability %s", doc.Code(durability))
	p.Table([]string{"process", "windows", ">resident memory, MB", ">open descriptors", ">goroutines", ">data folder, MB"}, rows)
	p.Paragraph("Means over the ends of the first and of the last judged windows, %s each.", render.Plural(first.Judged, "window"))
}

// soakRecovery shows the recovery of the load from faults.
func soakRecovery(p *doc.Document, s *result.Soak, durability string) {
	r := s.Totals.Recovery
	if r == nil {
		return
	}
	p.Heading(2, "Recovery from faults, durability %s", doc.Code(durability))
	rows := [][]string{
		{"windows with faults that are scored", render.Count(r.Windows)},
		{"faults in these", render.Count(r.Faults)},
		{"faults that the load did not recover from", render.Count(r.NotRecovered)},
		{"windows after whose last faults the rate did not come back", render.Count(r.Decayed)},
	}
	if r.NotRecovered < r.Faults {
		rows = append(rows, []string{"time of recovery, median, ms", render.Number(r.RecoveryMsMedian)}, []string{"time of recovery, largest, ms", render.Number(r.RecoveryMsMax)})
	}
	p.Table([]string{"what", ">value"}, rows)
	p.Paragraph("A window is scored if it is complete and neither invalid nor incorrect. The times cover the faults with a"+
		" recovery: the rate was back at %s %% of that before the fault, before"+
		" the next fault and the end of the window. The rate came back after the last faults of a window if it was at least %s %% of that before the first one.",
		render.Number(100*r.RecoveredShare), render.Number(100*result.LevelLeast))
	if r.DecayedReason != "" {
		p.Paragraph("The first window in which it did not: %s.", doc.Escape(r.DecayedReason))
	}
}

func soakWindows(p *doc.Document, s *result.Soak) {
	t := s.Totals
	p.Heading(2, "Windows")
	p.Table([]string{"what", ">number"}, [][]string{
		{"all", render.Count(t.Windows)},
		{"judged: valid, complete and without faults", render.Count(t.Judged)},
		{"invalid: the host was not fit, or a figure is missing", render.Count(t.Invalid)},
		{"with faults", render.Count(t.WithFaults)},
		{"cut short by the end of the harness or of a server", render.Count(t.Cut)},
		{"with a ledger that does not balance", render.Count(t.Incorrect)},
		{"starts of the harness", render.Count(t.Starts)},
		{"servers that ended by themselves", render.Count(t.ServerEnds)},
		{"results of single windows that were deleted", render.Count(t.DeletedWindows)},
	})
}

func soakLedger(p *doc.Document, s *result.Soak, durability string) {
	l := s.Totals.Ledger
	p.Heading(2, soakLedgerHeading, doc.Code(durability))
	rows := [][]string{}
	for _, of := range []struct {
		name  string
		count uint64
	}{
		{"enqueued", l.Enqueued},
		{"unknown whether enqueued", l.Unknown},
		{"completed", l.Completed},
		{"in doubt", l.InDoubt},
		{"lost", l.Lost},
		{"duplicated", l.Duplicated},
		{"corrupted", l.Corrupted},
		{"misrouted", l.Misrouted},
		{"reordered", l.Reordered},
		{"contested", l.Contested},
		{"revoked", l.Revoked},
		{"reads", l.Reads},
		{"misread", l.Misread},
	} {
		rows = append(rows, []string{of.name, render.Count(of.count)})
	}
	p.Table([]string{"tasks", ">number"}, rows)
	p.Listed("Tasks at fault:", l.Samples)
}

func soakEvents(p *doc.Document, s *result.Soak) {
	if len(s.Events) == 0 {
		return
	}
	p.Heading(2, "Events")
	var rows [][]string
	for _, e := range s.Events {
		rows = append(rows, []string{words.Moment(e.At), render.Count(e.Window), doc.Escape(e.Text)})
	}
	p.Table([]string{"at (UTC)", ">window", "what"}, rows)
	if s.EventsOmitted > 0 {
		p.Paragraph("%s before them are omitted.", render.Plural(s.EventsOmitted, "event"))
	}
}

// seriesLabel is the title of a plot over time, and the label of its axis.
type seriesLabel struct{ title, label string }

// soakTitles are the titles and axis labels of the plots of a soak.
var soakTitles = map[string]seriesLabel{
	scenario.SoakRate:       {"cycles per second", "cycles per second (1/s)"},
	scenario.SoakLatency:    {"99th percentile of cycle latency", "cycle latency, p99 (ms)"},
	scenario.SoakServerCPU:  {"CPU time of the servers for each cycle", "server CPU (µs per cycle)"},
	scenario.SoakRSS:        {"server memory", "resident memory (MB)"},
	scenario.SoakFDs:        {"descriptors of the servers", "open descriptors"},
	scenario.SoakGoroutines: {"goroutines of the servers", "goroutines"},
	scenario.SoakDisk:       {"size of the data folders", "allocated on disk (MB)"},
	scenario.SoakHarnessRSS: {"memory of the harness", "resident memory (MB)"},
}

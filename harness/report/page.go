package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/account"
	"github.com/pronybench/prony/harness/report/anatomy"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/faults"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/report/stalls"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// runPage returns the page of r. judged is its judgement, repeats are other published runs of the
// same work, and kept has the links to stored profiles.
func runPage(r *result.Result, judged gate.Report, plots []doc.Figure, repeats []repeated, kept keptProfiles) *doc.Document {
	p := &doc.Document{}
	title := r.Title
	if title == "" {
		title = r.Scenario
	}
	p.Heading(1, "%s", doc.Escape(title))
	opening(p, r, judged)
	if r.Verdict == result.Incorrect {
		incorrectOpening(p, r)
		summarySection(p, r)
		account.Section(p, r)
	} else {
		repeatabilityOpening(p, r, repeats)
		pointsSection(p, r)
		summarySection(p, r)
		repeatabilitySection(p, r, repeats)
		workloadsSection(p, r)
		plotSection(p, r, plots)
		roundsSection(p, r)
		hostSection(p, r)
		referencesSection(p, r)
		processesSection(p, r)
		faults.Section(p, r)
		attacksSection(p, r)
		recurringSection(p, r)
		nodesSection(p, r)
		hostsSection(p, r)
		arrivalsSection(p, r)
		backlogSection(p, r)
		account.Section(p, r)
		anatomy.Stages(p, r)
		anatomy.Section(p, r)
		turnsSection(p, r)
		lossWindowSection(p, r)
		stalls.Section(p, r)
		costsSection(p, r)
		locksSection(p, r)
		profileSection(p, r, kept)
		tracesSection(p, r)
	}
	scenarioSection(p, r)
	provenanceSection(p, r)
	p.Heading(2, "What this page does not measure")
	p.List(limits(r))
	return p
}

// incorrectOpening explains which figures of an incorrect run are not published, and shows the
// points that keep theirs.
func incorrectOpening(p *doc.Document, r *result.Result) {
	const why = ": a cycle rate that counts lost, duplicated or corrupted tasks is not a rate of completed work."
	if r.Manifest.Scenario.Topology.Kind != scenario.ByProgram {
		p.Paragraph("The ledger of this run does not balance, so no figure of it is published" + why + " The account of the tasks follows.")
		return
	}
	p.Paragraph("The ledger of some of the servers does not balance, so no figure of them is published" + why +
		" The lost, duplicated or corrupted tasks of these servers are the finding. The other servers keep their figures.")
	pointsSection(p, r)
}

func opening(p *doc.Document, r *result.Result, judged gate.Report) {
	p.Paragraph("Verdict: **%s**. Scenario %s, durability %s%s: %s.",
		doc.Escape(string(r.Verdict)), doc.Code(r.Scenario), doc.Code(r.Manifest.Durability()), runs.Polling(r), Plan(r))
	limitsOpening(p, r, judged)
	if reasons := r.Manifest.Unpublishable(); len(reasons) > 0 {
		p.Paragraph("**Below the standard for published figures: %s.** Measure the scenario again before you rely on them.", doc.Escape(strings.Join(reasons, "; ")))
	}
	observedParagraph(p, r)
	scriptParagraph(p, r)
	p.Listed("Warnings:", foldRounds(r.Warnings))
	notMeasured(p, r)
}

// limitsOpening lists the broken limits, then the other reasons for the verdict. It notes if only
// the limits of every scenario were judged: those on lost, duplicated and corrupted tasks.
func limitsOpening(p *doc.Document, r *result.Result, judged gate.Report) {
	broken := Broken(judged)
	if len(broken) > 0 {
		p.Listed(fmt.Sprintf("**This run breaks %s:**", render.Plural(len(broken), "limit")), broken)
	}
	p.Listed("Reasons for the verdict:", slices.DeleteFunc(slices.Clone(r.Reasons), func(reason string) bool { return slices.Contains(broken, reason) }))
	if !slices.ContainsFunc(judged.Findings, func(f gate.Finding) bool { return f.Judged && !ofAccount(f.Metric) }) {
		p.Paragraph("Only the limits on lost, duplicated and corrupted tasks were judged.")
	}
}

// ofAccount reports whether a metric is a count of tasks at fault.
func ofAccount(metric string) bool {
	spec, known := result.Lookup(metric)
	return known && spec.OfLedger()
}

// plan returns the number of rounds and the length of their windows.
func plan(rounds []result.Round) string {
	timed, profiled := runs.Split(rounds)
	text := render.Plural(len(timed), "timed round")
	if window := windows(timed); window != "" {
		text += " with a window of " + window
	}
	if len(profiled) > 0 {
		text += ", " + render.Plural(len(profiled), "profiled round")
		if window := windows(profiled); window != "" {
			text += " with a window of " + window
		}
	}
	return text
}

// atPoints returns the number of sweep points of the rounds.
func atPoints(r *result.Result) string {
	if len(r.Points) == 0 {
		return ""
	}
	return ", over " + render.Plural(len(r.Points), "point") + " of the sweep in turn"
}

// windows returns the length of the windows of rounds: one length, or from the shortest to the
// longest.
func windows(rounds []result.Round) string {
	if len(rounds) == 0 {
		return ""
	}
	low, high := rounds[0].WindowSeconds, rounds[0].WindowSeconds
	for _, round := range rounds {
		low, high = min(low, round.WindowSeconds), max(high, round.WindowSeconds)
	}
	if render.Number(low) == render.Number(high) {
		return render.Digits(low, 3) + " s"
	}
	return render.Digits(low, 3) + " to " + render.Digits(high, 3) + " s"
}

func summarySection(p *doc.Document, r *result.Result) {
	p.Heading(2, "%s", SummaryHeading(r))
	metrics, bare := result.Published(r), r.Bare(result.Point{})
	if len(r.Points) > 0 { // the points have their own shares
		bare = nil
	}
	metricsTable(p, metrics, bare)
	for _, point := range result.PublishedPoints(r) {
		p.Heading(3, "%s", PointHeading(r, point))
		metricsTable(p, point.Metrics, r.Bare(point))
	}
	if len(r.Metrics) > 0 {
		p.Paragraph("n is the number of rounds. An interval covers the rounds of this run, not another day. All values: durability"+
			" %s%s, revision %s, %s.",
			doc.Code(r.Manifest.Durability()), runs.Polling(r), doc.Code(r.Manifest.Build.Revision()), words.Machine(r.Manifest.Host))
	}
}

// metricsTable shows metrics, also as shares of the bare data path unless bare is nil.
func metricsTable(p *doc.Document, metrics map[string]result.Metric, bare *result.Reference) {
	header := []string{"metric", ">value", ">low", ">high"}
	if bare != nil {
		header = append(header, ofBareHeader)
	}
	var rows [][]string
	for _, spec := range result.Specs() {
		m, found := metrics[spec.Name]
		if !found || spec.Unit == "samples" {
			continue
		}
		row := []string{doc.Code(spec.Name), Value(spec.Unit, m.Median), Value(spec.Unit, m.Low), Value(spec.Unit, m.High)}
		if bare != nil {
			row = append(row, ofBare(bare, spec.Name, m))
		}
		rows = append(rows, append(row, fmt.Sprint(m.N), words.Unit(m.Unit), meaning(spec, m, metrics)))
	}
	if len(rows) == 0 {
		p.Paragraph("There are no metrics.")
		return
	}
	p.Table(append(header, ">n", "unit", "what value, low and high are"), rows)
	ofBareParagraph(p, bare)
}

// meaning describes how the three numbers of a metric were computed.
func meaning(spec result.Spec, m result.Metric, all map[string]result.Metric) string {
	switch {
	case spec.Bounded:
		return "fall of a line through the rates of the window, relative to their mean; one-sided 95 % bounds, by a moving-block bootstrap"
	case spec.OfLedger():
		return "sum over all rounds, including profiled ones; lowest and highest round"
	case spec.Family != "" && strings.HasSuffix(spec.Name, "_max"):
		return fmt.Sprintf("largest of %s samples, all timed rounds; lowest and highest round", render.Whole(all[spec.Family+"_n"].Median))
	case spec.Part == result.OfTurns && strings.HasSuffix(spec.Name, "_max"):
		return "largest of all turns of the timed rounds; lowest and highest round"
	case spec.Part == result.OfTurns:
		return "part of all turns of the timed rounds; lowest and highest round"
	case spec.Part == result.OfLoss && strings.HasSuffix(spec.Name, "_max"):
		return "highest of all peaks of the timed rounds; lowest and highest round"
	case spec.Part == result.OfLoss:
		return "percentile of all peaks of the timed rounds; lowest and highest round"
	case spec.Sum():
		return "sum over the timed rounds; lowest and highest round"
	case spec.Part == result.OfFaults && spec.Partial && spec.Merged():
		return "of the faults that the load recovered from, all timed rounds together; lowest and highest round"
	case spec.Part == result.OfFaults && spec.Merged():
		return "of the faults of all timed rounds together; lowest and highest round"
	case m.Resampled:
		return "percentile of all timed rounds merged; 95 % interval, by a bootstrap over rounds"
	case spec.Family != "":
		return "percentile of all timed rounds merged; lowest and highest round"
	case spec.Name == result.RateCost:
		return "median of the turns of the points; " + result.Spread(m.N, "turn")
	case spec.Part == result.OfProfiling:
		return "median of the profiled rounds, each relative to its adjacent timed rounds; " + result.Spread(m.N, "round")
	default:
		return "median of the timed rounds; " + result.Spread(m.N, "round")
	}
}

func plotSection(p *doc.Document, r *result.Result, plots []doc.Figure) {
	for _, plot := range plots {
		if plot.SVG != nil {
			p.Plot(fmt.Sprintf("%s, durability %s", doc.Escape(plot.Caption), doc.Escape(r.Manifest.Durability())), plot.File,
				fmt.Sprintf("%s. Durability %s%s, run %s, revision %s, %s", plot.Caption, doc.Code(r.Manifest.Durability()), runs.Polling(r),
					doc.Code(r.Run), doc.Code(r.Manifest.Build.Revision()), words.Machine(r.Manifest.Host)))
		}
	}
}

func roundsSection(p *doc.Document, r *result.Result) {
	if len(r.Rounds) == 0 {
		return
	}
	p.Heading(2, "Rounds, durability %s", doc.Code(r.Manifest.Durability()))
	columns := columns{
		{">cycles/s", result.CyclesPerS},
		{">server CPU, µs/cycle", result.ServerCPUUsPerCycle},
		{">client CPU, µs/cycle", result.ClientCPUUsPerCycle},
		{">server memory, MB", result.ServerRSSMBMax},
		{">enqueue p99, ms", result.EnqueueLatencyMs + "_p99"},
		{">settle p99, ms", result.SettleLatencyMs + "_p99"},
		{">cycle p50, ms", result.CycleLatencyMs + "_p50"},
		{">cycle p99, ms", result.CycleLatencyMs + "_p99"},
	}
	var metrics []map[string]float64
	for _, round := range r.Rounds {
		metrics = append(metrics, round.Metrics)
	}
	columns = append(columns, present(partColumns, metrics)...)
	header := []string{">round", "kind", "verdict", "started (UTC)", ">window, s", ">cycles"}
	if len(r.Points) > 0 {
		header = append([]string{">round", "point"}, header[1:]...)
	}
	header = append(header, columns.headers()...)
	var rows [][]string
	var notes []string
	for _, round := range r.Rounds {
		kind := "timed"
		switch {
		case round.TimedProfiled():
			kind = "timed, profiled"
		case round.Profiled:
			kind = "profiled"
		case round.Calibration:
			kind = "to find the peak"
		}
		row := []string{fmt.Sprint(round.Number)}
		if len(r.Points) > 0 {
			row = append(row, doc.Code(runs.PointName(r, round.Point)))
		}
		row = append(row,
			kind, doc.Escape(string(round.Verdict)), round.Started.UTC().Format(time.TimeOnly),
			render.Digits(round.WindowSeconds, 3), render.Count(round.Cycles))
		row = append(row, cells(columns, round.Metrics, render.Number)...)
		rows = append(rows, row)
		for _, reason := range round.Reasons {
			notes = append(notes, fmt.Sprintf("Round %d: %s", round.Number, doc.Escape(reason)))
		}
	}
	p.Table(header, rows)
	p.List(notes)
}

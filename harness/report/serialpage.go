package report

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/result"
)

// serialName is the name of a serial budget's page and data.
const serialName = "serial"

// renderSerial writes the page and the plot of the serial budget in the folder in, as Render does
// for a run.
func renderSerial(in, out string) ([]string, error) {
	s, err := result.ReadSerial(in)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	plot, err := drawn(result.Pass, serialName+".svg", "Budget of each setting with its 95 % interval, with parking and with spinning waits",
		func() ([]byte, error) { return serialPlot(s) })
	if err != nil {
		return nil, fmt.Errorf("report on %s: %w", in, err)
	}
	return write(in, out, serialName, RunPage, []doc.Figure{plot}, serialPage(s, plot))
}

// publishSerial copies a serial budget to the published data, and renders its page from the copy.
func publishSerial(dir, reportsDir string) ([]string, error) {
	s, err := result.ReadSerial(dir)
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	return publishCopy(dir, reportsDir, serialName, []string{result.SerialFile}, s.Manifest.Unpublishable())
}

// Serial returns the page of a serial budget, without its plot.
func Serial(s *result.Serial) *doc.Document { return serialPage(s, doc.Figure{}) }

func serialPage(s *result.Serial, plot doc.Figure) *doc.Document {
	p := &doc.Document{}
	p.Heading(1, "The serial budget")
	p.Paragraph("One goroutine of each shard decides all commands. How much work per request can that goroutine do while the rate stays at %s or more of the rate without work? "+
		"The requests are no-ops: they pass the stream, the inbox, the deciding goroutine and the stream back over a Unix socket, and store nothing (durability %s).",
		render.PercentTo(s.KeptShare, 0), doc.Code(s.Manifest.Durability()))
	p.List(serialAnswers(s))
	if reasons := s.Manifest.Unpublishable(); len(reasons) > 0 {
		p.Paragraph("**Below the standard for published figures: %s.** Measure again before you rely on them.", doc.Escape(strings.Join(reasons, "; ")))
	}
	if plot.SVG != nil {
		p.Plot(plot.Caption, plot.File, fmt.Sprintf("%s. Revision %s, %s", plot.Caption, doc.Code(s.Manifest.Build.Revision()), words.Machine(s.Manifest.Host)))
	}
	serialPoints(p, s)
	for i := range s.Points {
		point := &s.Points[i]
		p.Heading(2, "%s", SerialHeading(*point))
		if point.Skipped != "" {
			p.Paragraph("Not measured: %s.", doc.Escape(point.Skipped))
			continue
		}
		serialWindows(p, point)
		p.List(serialNotes(point))
	}
	like := &result.Result{Run: serialName, Scenario: serialName, Manifest: s.Manifest, Started: s.Started, Finished: s.Finished}
	provenanceTable(p, like, []string{"points", fmt.Sprintf("%s, slices of %s ms", render.Count(len(s.Points)), render.Number(s.SliceMs))})
	p.Heading(2, "What this page does not measure")
	p.List([]string{
		"A budget applies to the pair of server and generator on this host: if the generator or the CPUs bound the rate, it includes the resulting idle time.",
		"No-op requests store nothing: commits and the work of the state machine would use a part of the budget.",
		"The CPU profile has one sample per 10 ms of CPU time; futex and yield are parts of the stages.",
		"Another day and another host.",
	})
	return p
}

// SerialHeading returns the heading of the section with the figures of one point on the page of a
// serial budget.
func SerialHeading(point result.SerialPoint) string { return "With " + doc.Escape(point.Name()) }

// serialAnswers list the largest budget with each kind of waits.
func serialAnswers(s *result.Serial) (all []string) {
	for _, waits := range []string{result.WaitsParking, result.WaitsSpinning} {
		if p := s.Largest(waits); p != nil {
			all = append(all, fmt.Sprintf("largest budget with %s waits: %s (95 %% interval %s to %s), with %s",
				waits, render.Nanoseconds(p.Budget.WorkNs), render.Nanoseconds(p.Budget.LowNs), render.Nanoseconds(p.Budget.HighNs), p.Setting()))
		}
	}
	return all
}

package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pronybench/prony/harness/render"
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
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	plot, err := serialFigure(s)
	if err != nil {
		return nil, fmt.Errorf("report on %s: %w", in, err)
	}
	same, err := sameFolder(in, out)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	pageName := serialName + ".md"
	if same {
		pageName = RunPage
	}
	return writeFiles(out, pageName, []figure{plot}, serialMarkdown(s, plot))
}

// publishSerial copies a serial budget to the published data, and renders its page from the copy.
func publishSerial(dir, reportsDir string) ([]string, error) {
	s, err := result.ReadSerial(dir)
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	if reasons := s.Manifest.Unpublishable(); len(reasons) > 0 {
		return nil, &UnpublishableError{Of: dir, Reasons: reasons}
	}
	data := filepath.Join(reportsDir, dataDir, serialName)
	if err := copyPacked(dir, data, []string{result.SerialFile}); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	return renderSerial(data, PagesFolder(reportsDir))
}

func serialMarkdown(s *result.Serial, plot figure) string {
	p := &page{}
	p.heading(1, "The serial budget")
	p.paragraph("One goroutine of each shard decides all commands. How much work per request can that goroutine do while the rate stays at %s or more of the rate without work? "+
		"The requests are no-ops: they pass the stream, the inbox, the deciding goroutine and the stream back over a Unix socket, and store nothing (durability %s).",
		render.PercentTo(s.KeptShare, 0), code(s.Manifest.Durability()))
	p.list(serialAnswers(s))
	if reasons := s.Manifest.Unpublishable(); len(reasons) > 0 {
		p.paragraph("**Below the standard for published figures: %s.** Measure again before you rely on them.", text(strings.Join(reasons, "; ")))
	}
	if plot.svg != nil {
		p.paragraph("![%s](%s)", plot.caption, plot.file)
		p.paragraph("*%s. Revision %s, %s.*", plot.caption, code(s.Manifest.Build.Revision()), machine(s.Manifest.Host))
	}
	t := serialPoints(s)
	p.table(t.Header, t.Rows)
	for i := range s.Points {
		point := &s.Points[i]
		p.heading(2, "%s", SerialHeading(*point))
		if point.Skipped != "" {
			p.paragraph("Not measured: %s.", text(point.Skipped))
			continue
		}
		t := serialWindows(point)
		p.table(t.Header, t.Rows)
		p.list(serialNotes(point))
	}
	like := &result.Result{Run: serialName, Scenario: serialName, Manifest: s.Manifest, Started: s.Started, Finished: s.Finished}
	provenanceTable(p, like, []string{"points", fmt.Sprintf("%s, slices of %s ms", render.Count(len(s.Points)), render.Number(s.SliceMs))})
	p.heading(2, "What this page does not measure")
	p.list(append(strings.Split(strings.TrimSpace(serialCaveats), "\n"), "Another day and another host."))
	return p.String()
}

// SerialHeading returns the heading of the section with the figures of one point on the page of a
// serial budget.
func SerialHeading(point result.SerialPoint) string { return "With " + text(point.Name()) }

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

// Package experimentspage writes the page of the experiments, kept and rejected.
package experimentspage

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pronybench/prony/harness/experiment"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/words"
	"github.com/pronybench/prony/harness/source"
)

// File names of the page and of its plot.
const (
	Name     = "experiments.md"
	PlotFile = "experiments.svg"
)

// Page returns the page of the experiments, in their order, and its plot; the plot is nil if
// no experiment has a score. It looks for the code that experiments name in the repository at root,
// and returns an error if it is missing. The same experiments and code always result in the same
// page.
func Page(all []experiment.Experiment, root string) (markdown string, plot []byte, err error) {
	p := &doc.Document{}
	p.Heading(1, "Experiments, kept and rejected")
	p.Paragraph("Attempts to improve the engine, with the hypothesis, the result and the cost. Rejected experiments stay on the list:" +
		" they show what need not be tried again, and under which conditions it was tried.")
	kept, nevertheless := 0, 0
	for _, e := range all {
		if e.Kept {
			kept++
		}
		if e.KeptFor != "" {
			nevertheless++
		}
	}
	p.Paragraph("%s: %d kept, %d of them for a reason other than their effect, which is within the noise; %d rejected. %d were decided by"+
		" `prony ratchet`; the others were measured by hand, as each entry describes.",
		render.Plural(len(all), "experiment"), kept, nevertheless, len(all)-kept, len(measured(all)))
	steps := trail(all)
	if len(steps) > 0 {
		if plot, err = trailPlot(steps); err != nil {
			return "", nil, err
		}
		trailSection(p, steps)
	}
	p.Heading(2, "All experiments")
	var rows [][]string
	for _, e := range all {
		score := "-"
		if m := e.Measurement; m != nil && m.Score != nil {
			score = ratioText(*m.Score)
		}
		rows = append(rows, []string{doc.Escape(e.Name), decision(e), score, doc.Escape(e.Hypothesis)})
	}
	p.Table([]string{"experiment", "decision", ">score", "hypothesis"}, rows)
	var missing []error
	for _, e := range all {
		missing = append(missing, experimentSection(p, e, root))
	}
	if err := errors.Join(missing...); err != nil {
		return "", nil, err
	}
	p.Heading(2, "What this does not measure")
	p.Paragraph("A score is from one scenario on one host. The trail multiplies scores from different days and maybe different hosts," +
		" each against the base of its day: the product is an account of the gains, and not a measurement of the newest build against the oldest." +
		" It does not contain changes without an experiment. Latencies of a score are those at 30 %% of the base's rate. An experiment that was measured" +
		" by hand has no score, and its figures may come from a busy host, as it says. One in forty changes without an effect is" +
		" kept by chance, because its score's 95 %% interval is below 1.")
	return p.Markdown(), plot, nil
}

func measured(all []experiment.Experiment) (of []experiment.Experiment) {
	for _, e := range all {
		if e.Measurement != nil {
			of = append(of, e)
		}
	}
	return of
}

func decision(e experiment.Experiment) string {
	switch {
	case e.KeptFor != "":
		return "kept for another reason"
	case e.Kept:
		return "kept"
	}
	return "rejected"
}

func ratioText(r experiment.Ratio) string { return gate.RatioText(r.Ratio, r.Low, r.High) }

// step is one experiment with a score, and the product of the kept scores so far.
type step struct {
	experiment.Experiment
	product float64
}

// trail returns the experiments with a score, in their order.
func trail(all []experiment.Experiment) (steps []step) {
	product := 1.0
	for _, e := range measured(all) {
		score := e.Measurement.Score
		if score == nil {
			continue
		}
		if e.Kept {
			product *= score.Ratio
		}
		steps = append(steps, step{e, product})
	}
	return steps
}

func trailSection(p *doc.Document, steps []step) {
	p.Heading(2, "The trail")
	p.Paragraph("The score is the geometric mean of the ratios of change to base, over the metrics of the score and the points of a sweep; below 1 the" +
		" change is better. It has a 95 %% interval over generations of fresh processes. A change is kept if the whole interval is below 1; a tie is" +
		" rejected. The product contains the scores of all changes kept so far.")
	p.Plot("Scores of the experiments, and the product of the kept ones", PlotFile, "")
	var rows [][]string
	for i, s := range steps {
		m := s.Measurement
		rows = append(rows, []string{
			fmt.Sprint(i + 1), m.Started.UTC().Format("2006-01-02"), doc.Escape(s.Name), decision(s.Experiment), ratioText(*m.Score), fmt.Sprintf("%.3f", s.product),
			doc.Escape(m.Scenario), doc.Escape(m.Durability),
		})
	}
	p.Table([]string{">", "date", "experiment", "decision", ">score", ">product of the kept", "scenario", "durability"}, rows)
}

// experimentSection shows one experiment in full.
func experimentSection(p *doc.Document, e experiment.Experiment, root string) error {
	p.Heading(3, "%s: %s", doc.Escape(e.Name), decision(e))
	var items []string
	add := func(what, says string) {
		if says != "" {
			items = append(items, what+": "+doc.Escape(says))
		}
	}
	add("Named by", e.NamedBy)
	add("Hypothesis", e.Hypothesis)
	add("Change", e.Change)
	if e.File != "" {
		items = append(items, "Where: "+doc.Code(e.File))
	}
	now, err := inCode(e, root)
	if now != "" {
		items = append(items, "In the current code: "+now)
	}
	add("Effect", e.Effect)
	add("Kept for", e.KeptFor)
	add("Cost", cmp.Or(e.Cost, "not said"))
	add("Measured", e.Measured)
	add("Note", e.Note)
	m := e.Measurement
	if m == nil {
		p.List(items)
		return err
	}
	add("Disqualified", m.Disqualified)
	p.List(items)
	figureTable(p, m)
	provenance := []string{doc.Code(m.Command), "base " + doc.Code(m.Base), "change " + doc.Code(m.Commit) + dirtyText(m.Dirty)}
	for _, more := range []string{m.Options, tests(m.Tests), m.Go, m.Host} {
		if more != "" {
			provenance = append(provenance, doc.Escape(more))
		}
	}
	provenance = append(provenance, fmt.Sprintf("scenario %s, durability %s", doc.Code(m.Scenario), doc.Code(cmp.Or(m.Durability, "unknown"))))
	p.Paragraph("Provenance: %s; %s at %s, %.0f s from %s UTC.", strings.Join(provenance, "; "), render.Plural(m.Generations, "generation"),
		render.Plural(m.Points, "point"), m.Seconds, words.Minute(m.Started))
	return err
}

// inCode links to the current line of a change's code, or returns "" if the experiment does not
// name one.
func inCode(e experiment.Experiment, root string) (string, error) {
	if e.Code == "" {
		return "", nil
	}
	path, declaration := e.InCode()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return "", fmt.Errorf("experiment %q: its code does not exist: %w", e.Name, err)
	}
	line := source.Line(text, declaration)
	if line == 0 {
		return "", fmt.Errorf("experiment %q: %s has no line that begins with %q: use the current declaration", e.Name, path, declaration)
	}
	return fmt.Sprintf("[`%s:%d`](../%s#L%d)", path, line, path, line), nil
}

func dirtyText(dirty bool) string {
	if dirty {
		return " with local changes"
	}
	return ""
}

func tests(suites string) string {
	if suites == "" {
		return ""
	}
	return "tests: " + suites
}

// figureTable shows the figures of a measurement.
func figureTable(p *doc.Document, m *experiment.Measurement) {
	if len(m.Figures) == 0 {
		return
	}
	var rows [][]string
	for _, f := range m.Figures {
		worse := ""
		if f.Worse {
			worse = "worse"
		}
		rows = append(rows, []string{
			doc.Escape(f.Metric), doc.Escape(cmp.Or(f.Point, "all")), doc.Escape(f.Unit), render.Number(f.Base), render.Number(f.Change), ratioText(f.Ratio), worse,
		})
	}
	p.Table([]string{"metric", "point", "unit", ">base", ">change", ">ratio", "for certain"}, rows)
	if m.MoreWorse > 0 {
		p.Paragraph("%s of single points certainly got worse too, by less.", render.Plural(m.MoreWorse, "further figure"))
	}
}

package pages

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

type dayOperand struct {
	a, b *value // b is nil for a figure
}

// over returns the ratio of two figures of one run as an operand of days.
func over(a, b *value) (dayOperand, error) {
	if a == nil || b == nil || a.of != b.of {
		return dayOperand{}, refuse("over compares two figures of one run: name the same scenario in both")
	}
	return dayOperand{a, b}, nil
}

// days writes a table that compares figures with the same figures in the newest published run of
// the same scenario on another day. The table also lists how the two runs differ.
func (w *writer) days(operands ...any) (string, error) {
	if len(operands) == 0 {
		return "", refuse("days has no figure: write (at \"SCENARIO\" \"METRIC\")")
	}
	var rows [][]string
	for _, o := range operands {
		var of dayOperand
		switch o := o.(type) {
		case *value:
			of.a = o
		case dayOperand:
			of = o
		default:
			return "", refuse("%v is not a figure: write (at \"SCENARIO\" \"METRIC\"), or (over (at ...) (at ...))", o)
		}
		row, err := w.otherDay(of)
		if err != nil {
			return "", err
		}
		rows = append(rows, row)
	}
	table := render.Table{
		Header: []string{"figure", "here", "another day", ">÷ here", "inside", ">client CPU, ÷ here", "other differences"}, Rows: rows,
	}
	return strings.TrimSuffix(table.Markdown(), "\n"), nil
}

// otherDay returns the row of one figure. It compares the figure with the newest run of another day
// that contains it.
func (w *writer) otherDay(of dayOperand) ([]string, error) {
	if of.a.of.run == nil {
		return nil, refuse("%s: days compares figures of runs", of.a.of.described())
	}
	here, text, err := of.shown()
	if err != nil {
		return nil, err
	}
	label := of.a.place() + ", `" + of.a.metric + "`"
	if w.row(of.a); of.b != nil {
		w.row(of.b)
		label += " ÷ " + "`" + of.b.point.Name + "`"
	} else if err := w.set.once(of.a, w.page); err != nil {
		return nil, err
	}
	earlier, err := w.set.data.earlier(of.a.of)
	if err != nil {
		return nil, err
	}
	row := []string{label, fmt.Sprintf("[%s](#%s)", text, figuresAnchor)}
	for _, d := range earlier {
		other, found := of.in(d)
		if !found || day(d) == day(of.a.of) {
			continue
		}
		then, shown, err := other.shown()
		if err != nil {
			return nil, err
		}
		inside := "no"
		if here.Low <= then.Median && then.Median <= here.High {
			inside = "yes"
		}
		return append(row, fmt.Sprintf("%s: [%s](history.md#%s)", day(d), shown, doc.Anchor(d.name)), render.Number(then.Median/here.Median), inside,
			other.clientCPU(of), differing(d, of.a.of)), nil
	}
	return append(row, "not published", doc.None, doc.None, doc.None, doc.None), nil
}

func day(d *dataset) string { return d.started.UTC().Format(time.DateOnly) }

func (d dayOperand) shown() (result.Metric, string, error) {
	if d.b == nil {
		return d.a.Metric, d.a.String(), nil
	}
	q, err := divided(d.a, d.b)
	text := render.Number(q.Median) + " times"
	if q.turns { // earlier runs have no rounds
		text += " (" + q.bounds.words(render.Number(q.Low), render.Number(q.High), q.N, "turn") + ")"
	}
	return q.Metric, text, err
}

func (d dayOperand) in(other *dataset) (dayOperand, bool) {
	same := dayOperand{}
	var err error
	if same.a, err = other.value(d.a.name(), settingsOf(d.a.point)); err == nil && d.b != nil {
		same.b, err = other.value(d.b.name(), settingsOf(d.b.point))
	}
	return same, err == nil // an error means that the run has no such figure
}

func (v *value) name() string {
	if v.workload != "" {
		return v.workload + "." + v.metric
	}
	return v.metric
}

// clientCPU returns the load generator's CPU time per cycle in d, divided by that in here. It
// depends on the host and not on the servers.
func (d dayOperand) clientCPU(here dayOperand) string {
	now, then := here.a.point.Metrics[result.ClientCPUUsPerCycle].Median, d.a.point.Metrics[result.ClientCPUUsPerCycle].Median
	if d.b != nil || !(now > 0) || !(then > 0) {
		return doc.None
	}
	return render.Number(then / now)
}

// differing lists the differences between an earlier run and another one, except the day: the
// commit, the host and the settings.
func differing(earlier, now *dataset) string {
	var all []string
	if a, b := revision(earlier.manifest.Build), revision(now.manifest.Build); a != b {
		all = append(all, "commit `"+a+"`")
	}
	if a, b := earlier.manifest.Host, now.manifest.Host; a.CPUModel != b.CPUModel {
		all = append(all, a.CPUModel)
	}
	for _, d := range scenario.Differences(&earlier.manifest.Scenario, &now.manifest.Scenario) {
		switch {
		// These settings affect which rounds are valid, but not their figures.
		case strings.HasPrefix(d.Path, "validity."):
		case d.Base == "":
			all = append(all, fmt.Sprintf("no `%s`", d.Path))
		default:
			all = append(all, fmt.Sprintf("`%s = %s`", d.Path, d.Base))
		}
	}
	return orNone(strings.Join(all, ", "))
}

// earlier reads the published runs that later ones replaced, the newest first.
func (s *store) earlier(of *dataset) ([]*dataset, error) {
	if runs, known := s.replaced[of.name]; known {
		return runs, nil
	}
	files, err := result.Glob(filepath.Join(report.EarlierFolder(filepath.Join(s.reports, "data", of.name)), "*.json"))
	if err != nil {
		return nil, err
	}
	var runs []*dataset
	for _, file := range files {
		r, err := result.ReadResult(file)
		if err != nil {
			return nil, err
		}
		if r.Verdict != result.Incorrect && r.Verdict != result.Invalid {
			runs = append(runs, &dataset{name: of.name, run: r, manifest: r.Manifest, started: r.Started, verdict: r.Verdict})
		}
	}
	slices.SortFunc(runs, func(a, b *dataset) int { return b.started.Compare(a.started) })
	s.replaced[of.name] = runs
	return runs, nil
}

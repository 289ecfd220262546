package pages

import (
	"fmt"
	"strings"
	"text/template"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// writer writes one page: its actions, and the section with all figures of the page.
type writer struct {
	set  *set
	page *page
	rows []*row
	// plots is the number of the page's plots and of its reasons for having no plot.
	plots int
	// labelled is set once an interval of the page has the label "95 % CI".
	labelled bool
	// drawn are the plots that were drawn for this page.
	drawn []Page
}

// actions are the functions of a source. The package documentation describes them.
func (w *writer) actions() template.FuncMap {
	return template.FuncMap{
		"figure": w.figure, "at": w.at, "ratio": w.ratio, "percent": w.percent, "change": w.change, "holds": holds, "less": less, "greater": greater,
		"within": within, "unclear": unclear, "bound": w.bound, "measured": w.measured, "days": w.days, "over": over, "plot": w.plot, "noplot": w.noplot, "multiples": w.multiples, "code": w.code, "page": w.link,
	}
}

func (w *writer) at(name, metric string, at ...string) (*value, error) {
	d, err := w.set.data.get(name)
	if err != nil {
		return nil, err
	}
	return d.value(metric, at)
}

func (w *writer) figure(name, metric string, at ...string) (string, error) {
	v, err := w.at(name, metric, at...)
	if err != nil {
		return "", err
	}
	if err := w.set.once(v, w.page); err != nil {
		return "", err
	}
	w.row(v)
	return fmt.Sprintf("[%s%s](#%s)", v.amount(), w.brackets(v.shownInterval(), v.bounds()), figuresAnchor), nil
}

// brackets labels the first 95 % confidence interval of a page. Later ones have no label.
func (w *writer) brackets(interval string, b bounds) string {
	if interval != "" && b == ci95 && !w.labelled {
		w.labelled = true
		interval = "95 % CI " + interval
	}
	return brackets(interval)
}

func (w *writer) ratio(a, b *value) (string, error) {
	return w.quotient(a, b, func(n float64) string { return render.Number(n) }, "times", "÷")
}

func (w *writer) percent(a, b *value) (string, error) {
	return w.quotient(a, b, func(n float64) string { return render.Number(100 * n) }, "%", "÷")
}

func (w *writer) change(from, to *value) (string, error) {
	return w.quotient(to, from, func(n float64) string {
		if n > 1 {
			return "+" + render.Number(100*(n-1))
		}
		return render.Number(100 * (n - 1))
	}, "%", "against")
}

// quotient formats the ratio of two figures. It adds both figures and then the ratio to the table.
func (w *writer) quotient(a, b *value, form func(float64) string, unit, sign string) (string, error) {
	if a == nil || b == nil {
		return "", refuse("an operand is missing: write (at \"SCENARIO\" \"METRIC\")")
	}
	q, err := divided(a, b)
	if err != nil {
		return "", err
	}
	how, noun := "by their intervals", "round"
	if q.turns {
		how, noun = "interleaved", "turn"
	}
	r := &row{
		key:  fmt.Sprint(sign, unit, a.key(), b.key()),
		name: fmt.Sprintf("row %d %s row %d, %s", w.row(a), sign, w.row(b), how), value: form(q.Median), unit: unit,
	}
	if !a.single || !b.single {
		r.interval = q.bounds.words(form(q.Low), form(q.High), q.N, noun)
	}
	w.add(r)
	return fmt.Sprintf("[%s %s%s](#%s)", r.value, unit, w.brackets(r.interval, q.bounds), figuresAnchor), nil
}

func (w *writer) bound(name string, at ...string) (string, error) {
	d, err := w.set.data.get(name)
	if err != nil {
		return "", err
	}
	if d.run == nil {
		return "", refuse("%s, which has no limiting resource", d.described())
	}
	point, err := d.point(at)
	if err != nil {
		return "", err
	}
	found := point.Bound
	if point.Number == 0 {
		found = d.run.Bound
	}
	if found == nil {
		return "", refuse("%q has no limiting resource%s", name, placed(point))
	}
	return fmt.Sprintf("%s ([`%s`](%s))", found.Sentence, name, dataLink(name)), nil
}

func (w *writer) link(name string) (string, error) {
	var names []string
	for _, p := range w.set.pages() {
		if p.name == name {
			return fmt.Sprintf("[%s](%s)", p.title, p.file()), nil
		}
		names = append(names, p.name)
	}
	return "", refuse("there is no page %q: %s", name, meant(name, names))
}

func (w *writer) noplot(reason string) (string, error) {
	if strings.TrimSpace(reason) == "" {
		return "", refuse("noplot has no reason: explain in one sentence why the page has no plot")
	}
	w.plots++
	return "No plot: " + reason, nil
}

// once rejects a second run of the same workload, so that all pages of the set cite the figure of
// one run.
func (s *set) once(v *value, p *page) error {
	if v.of.run == nil {
		return nil
	}
	work := v.workload + "\n" + v.metric + "\n" + v.work()
	first, has := s.cited[work]
	if !has {
		s.cited[work] = &citation{v, p}
		return nil
	}
	if first.of == v.of && first.point.Number == v.point.Number {
		return nil
	}
	return refuse("%s, but %s cites %s: these are figures of the same workload, and the set may cite only one of them: cite that one, or write a ratio",
		v.named(), first.page.source, first.named())
}

type citation struct {
	*value
	page *page
}

func (v *value) work() string {
	var values []scenario.Value
	for _, swept := range v.point.Values {
		values = append(values, scenario.Value{Path: swept.Path, Text: swept.Text})
	}
	return v.of.manifest.Scenario.Work(values)
}

func (v *value) key() string {
	return fmt.Sprintf("%s\n%s\n%s\n%d", v.of.name, v.workload, v.metric, v.point.Number)
}

func revision(b result.Build) string {
	if b.Dirty {
		return render.Commit(b.Commit) + ", with changes"
	}
	return render.Commit(b.Commit)
}

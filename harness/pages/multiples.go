package pages

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/result"
)

// multiples draws a metric at each point of several runs' sweeps: a small plot for each run,
// relative to its first point.
func (w *writer) multiples(metric string, names ...string) (string, error) {
	if len(names) == 0 {
		return "", refuse("multiples has no scenario: name those whose sweeps to draw")
	}
	var all []plots.Multiple
	for _, name := range names {
		d, err := w.set.data.get(name)
		if err != nil {
			return "", err
		}
		m, err := d.multiple(metric)
		if err != nil {
			return "", err
		}
		all = append(all, *m)
	}
	svg, err := plots.Multiples(all)
	if err != nil {
		return "", fmt.Errorf("multiples: %w", err)
	}
	file := w.page.name + "-multiples.svg"
	w.drawn = append(w.drawn, Page{w.page.source, filepath.Join(w.set.reports, file), string(svg)})
	w.plots++
	return fmt.Sprintf("![%s at each value of a setting, relative to the first value](%s)", metric, file), nil
}

func (d *dataset) multiple(metric string) (*plots.Multiple, error) {
	if d.run == nil {
		return nil, refuse("%s, and has no sweep", d.described())
	}
	points := result.PublishedPoints(d.run)
	if len(points) < 2 {
		return nil, refuse("%q has no sweep: multiples draws the points of one", d.name)
	}
	m := &plots.Multiple{Title: fmt.Sprintf("%s (%s)", points[0].Values[0].Key, report.PointDurability(d.run, points[0]))}
	var first *value
	for i := range points {
		v, err := d.value(metric, settingsOf(points[i]))
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = v
		}
		ratio := result.Metric{Median: 1, Low: 1, High: 1}
		if i > 0 {
			q, err := divided(v, first)
			if err != nil {
				return nil, err
			}
			ratio = q.Metric
		}
		var texts []string
		for _, v := range points[i].Values {
			texts = append(texts, v.Text)
		}
		m.Values, m.Ratios = append(m.Values, strings.Join(texts, ", ")), append(m.Ratios, ratio)
	}
	return m, nil
}

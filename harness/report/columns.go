package report

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// none is the cell of a figure that was not measured.
const none = "–"

// column is a metric as a column of a table. A header that begins with ">" is that of a column of numbers.
type column struct{ header, metric string }

// columns are the metrics that a table shows side by side.
type columns []column

// present returns the columns whose metric is in any of those given.
func present[V any](all columns, metrics []map[string]V) columns {
	return slices.DeleteFunc(slices.Clone(all), func(c column) bool {
		return !slices.ContainsFunc(metrics, func(m map[string]V) bool { _, found := m[c.metric]; return found })
	})
}

func (all columns) headers() []string {
	headers := make([]string, len(all))
	for i, c := range all {
		headers[i] = c.header
	}
	return headers
}

// cells writes the columns of a row, each figure with format.
func cells[V any](all columns, metrics map[string]V, format func(V) string) []string {
	row := make([]string, len(all))
	for i, c := range all {
		row[i] = none
		if v, found := metrics[c.metric]; found {
			row[i] = format(v)
		}
	}
	return row
}

// median writes a metric's median alone.
func median(m result.Metric) string { return render.Number(m.Median) }

// interval writes a metric's median with its interval or range.
func interval(m result.Metric) string {
	return fmt.Sprintf("%s (%s to %s)", render.Number(m.Median), render.Number(m.Low), render.Number(m.High))
}

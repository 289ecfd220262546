package report

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

// column is a metric as a column of a table. A header with the prefix ">" marks a column of
// numbers.
type column struct{ header, metric string }

// columns are the metrics that a table shows side by side.
type columns []column

// present returns the columns whose metric is in any of the given maps.
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

// cells formats the columns of a row.
func cells[V any](all columns, metrics map[string]V, format func(V) string) []string {
	row := make([]string, len(all))
	for i, c := range all {
		row[i] = doc.None
		if v, found := metrics[c.metric]; found {
			row[i] = format(v)
		}
	}
	return row
}

// median formats a metric's median.
func median(m result.Metric) string { return render.Number(m.Median) }

// interval formats a metric's median with its interval or range.
func interval(m result.Metric) string {
	return fmt.Sprintf("%s (%s to %s)", render.Number(m.Median), render.Number(m.Low), render.Number(m.High))
}

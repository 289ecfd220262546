package pages

import (
	"fmt"

	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

// figuresHeading is the heading of the section with the figures of a page, and figuresAnchor its
// name in links.
const (
	figuresHeading = "Figures of this page"
	figuresAnchor  = "figures-of-this-page"
)

// row is one figure of a page in the table of all of them.
type row struct {
	key                         string // identifies the row
	name, value, interval, unit string
	of                          *value // nil for a ratio of two other rows
}

// row adds a figure to the table unless it has a row, and returns the number of its row, from 1.
func (w *writer) row(v *value) int {
	return w.add(&row{key: v.key(), name: "`" + v.metric + "`", value: v.in(v.Median), interval: v.interval(), unit: v.unit(), of: v})
}

func (w *writer) add(r *row) int {
	for i, other := range w.rows {
		if other.key == r.key {
			return i + 1
		}
	}
	w.rows = append(w.rows, r)
	return len(w.rows)
}

func (w *writer) table() string {
	header := []string{">row", "figure", ">value", "interval", "unit", "scenario and point", "durability", "rounds", "commit", "data"}
	var rows [][]string
	for i, r := range w.rows {
		cells := []string{fmt.Sprint(i + 1), r.name, r.value, orNone(r.interval), orNone(r.unit)}
		if v := r.of; v != nil {
			place := v.place()
			if v.of.verdict != result.Pass {
				place += ", verdict " + string(v.of.verdict)
			}
			cells = append(cells, place, "`"+v.durability+"`", v.rounds, "`"+revision(v.of.manifest.Build)+"`", fmt.Sprintf("[data](%s)", v.link()))
		} else {
			cells = append(cells, doc.None, doc.None, doc.None, doc.None, doc.None)
		}
		rows = append(rows, cells)
	}
	d := &doc.Document{}
	d.Heading(2, figuresHeading)
	d.Note("The page of the data has the command, the host and all settings. An interval without a label is a 95 %% confidence interval (CI).")
	d.Table(header, rows)
	return d.Markdown()
}

func orNone(s string) string {
	if s == "" {
		return doc.None
	}
	return s
}

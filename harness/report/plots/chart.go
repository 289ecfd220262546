package plots

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"

	"gonum.org/v1/plot/plotter"

	"github.com/pronybench/prony/harness/render"
)

// Chart is the data of a page's plot, for readers who need the values and for documents that draw
// it again. The names in JSON are short, because a document has many charts.
type Chart struct {
	Plot   string `json:"-"` // file name of the plot on the page
	Title  string `json:"title"`
	XLabel string `json:"x"`
	YLabel string `json:"y"`
	Nines  bool   `json:"nines,omitempty"` // the x axis has percentiles at stat.Nines, the y axis is logarithmic
	Dots   bool   `json:"dots,omitempty"`  // the points of a line are not connected
	Lines  []Line `json:"lines"`
	Bands  []Band `json:"bands,omitempty"`
}

// Line is one line. Point i is at From + i*Step if Step is above 0, and at X[i] otherwise; the last
// point is at Last if that is above 0.
type Line struct {
	Name    string   `json:"name"`
	Samples uint64   `json:"n,omitempty"` // number of samples of a percentile curve
	From    Value    `json:"from,omitempty"`
	Step    Value    `json:"step,omitempty"`
	Last    Value    `json:"last,omitempty"`
	X       []Value  `json:"x,omitempty"`
	Y       []Value  `json:"y"`
	Notes   []string `json:"notes,omitempty"` // one for each point; nil if no point has one
}

// Band is a time range with concurrent activity.
type Band struct {
	Kind string `json:"kind"` // "fault", "flush" or "compaction"
	Name string `json:"name"`
	From Value  `json:"from"`
	To   Value  `json:"to"`
}

// Value is a number of a chart. Its JSON has the precision that is visible in a chart.
type Value float64

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
		return nil, fmt.Errorf("%v is not a number that a chart can show", float64(v))
	}
	return json.Marshal(render.Rounded(float64(v), 4))
}

// Draw draws the lines of a chart over time, from zero to end, or to the last point if end is 0. It
// omits lines for which there is no style. The Y axis ends at room times the largest value. Without
// a value above 0 the error is ErrNothing.
func (c *Chart) Draw(end, room float64, legend bool) ([]byte, error) {
	p := New(c.Title, c.XLabel, c.YLabel)
	p.Add(Grid(false))
	limit, last := 0.0, 0.0
	for i, line := range c.Lines[:min(len(c.Lines), len(Lines))] {
		if len(line.X) == 0 {
			continue
		}
		points := make(plotter.XYs, len(line.X))
		for k, x := range line.X {
			points[k] = plotter.XY{X: float64(x), Y: float64(line.Y[k])}
			limit, last = max(limit, points[k].Y), max(last, points[k].X)
		}
		drawn, err := plotter.NewLine(points)
		if err != nil {
			return nil, fmt.Errorf("plot %s: %w", line.Name, err)
		}
		drawn.LineStyle = Lines[i]
		p.Add(drawn)
		if legend {
			p.Legend.Add(line.Name, drawn)
		}
	}
	if limit == 0 {
		return nil, ErrNothing
	}
	end = cmp.Or(end, last)
	FromZero(&p.X, end, end)
	FromZero(&p.Y, limit*room, limit*1.1)
	return SVG(p)
}

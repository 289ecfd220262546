package plots

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// Multiple is one of several small plots with a common scale: a figure at each value of a setting.
type Multiple struct {
	Title  string
	Values []string // values of the setting, in their order
	// for each value, the ratio to the figure at the first value; intervals must be above 0
	Ratios []result.Metric
}

const (
	multiplesColumns = 3
	multiplesHeight  = 1.6 * vg.Inch
)

// Multiples draws small plots in rows with a common logarithmic scale, so that a setting without an
// effect is a flat line. It returns an SVG file, with the same bytes for the same
func Multiples(all []Multiple) ([]byte, error) {
	if len(all) == 0 {
		return nil, errors.New("there are no plots to draw")
	}
	// The scale covers at least half to twice, so that noise does not look like an effect.
	low, high := 0.5, 2.0
	for _, m := range all {
		if len(m.Values) != len(m.Ratios) {
			return nil, fmt.Errorf("%s has %d values and %d ratios", m.Title, len(m.Values), len(m.Ratios))
		}
		for _, r := range m.Ratios {
			if !(r.Low > 0) || r.Low > r.Median || r.Median > r.High || math.IsInf(r.High, 0) {
				return nil, fmt.Errorf("%s has the ratio %v (%v to %v), which cannot be drawn", m.Title, r.Median, r.Low, r.High)
			}
			low, high = min(low, r.Low), max(high, r.High)
		}
	}
	var panels []*plot.Plot
	for _, m := range all {
		panel, err := m.panel(low/1.1, high*1.1)
		if err != nil {
			return nil, fmt.Errorf("plot %s: %w", m.Title, err)
		}
		panels = append(panels, panel)
	}
	return Columns(multiplesColumns, multiplesHeight, panels...)
}

// panel draws one plot with the given scale.
func (m *Multiple) panel(low, high float64) (*plot.Plot, error) {
	p := New(m.Title, "", "")
	p.Title.TextStyle.Font.Size = vg.Points(10)
	p.Title.Padding = vg.Points(4)
	p.X.Tick.Label.Font.Size, p.Y.Tick.Label.Font.Size = vg.Points(8), vg.Points(8)
	p.Add(Grid(false))
	p.X.Min, p.X.Max = 0.5, float64(len(m.Values))+0.5
	p.Y.Min, p.Y.Max = low, high
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = plot.ConstantTicks(doublings(low, high))
	same, err := plotter.NewLine(plotter.XYs{{X: p.X.Min, Y: 1}, {X: p.X.Max, Y: 1}})
	if err != nil {
		return nil, fmt.Errorf("draw the line of the first value: %w", err)
	}
	same.LineStyle = draw.LineStyle{Color: TextGrey, Width: vg.Points(0.75)}
	p.Add(same)
	var names []plot.Tick
	var points []Point
	for i, r := range m.Ratios {
		x := float64(i + 1)
		names = append(names, plot.Tick{Value: x, Label: m.Values[i]})
		points = append(points, Point{X: x, Value: r.Median, Low: r.Low, High: r.High})
	}
	p.X.Tick.Marker = plot.ConstantTicks(names)
	return p, AddIntervals(p, "", points, Blue, draw.CircleGlyph{}, true)
}

// doublings are ticks at the powers of two of a range.
func doublings(low, high float64) (ticks []plot.Tick) {
	for exponent := math.Ceil(math.Log2(low)); math.Exp2(exponent) <= high; exponent++ {
		v := math.Exp2(exponent)
		ticks = append(ticks, plot.Tick{Value: v, Label: render.Digits(v, 3)})
	}
	return ticks
}

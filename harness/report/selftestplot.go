package report

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
)

// intervalPoint is a value with its interval at a position of the X axis. In the plot of a
// self-test, x is a loss and value is the share of detected trials.
type intervalPoint struct{ x, value, low, high float64 }

// SelfTestPlot draws the share of detected changes over their loss, with 95 % intervals.
func SelfTestPlot(t *gate.SelfTest) ([]byte, error) {
	p := newPlot("Share of changes that the gate detects, by their loss")
	p.X.Label.Text = "measured loss of the figure that calibrates the change (%)"
	p.Y.Label.Text = "changes detected (%)"
	p.Add(lightGrid(false))
	limit := 0.0
	drawn := false
	for _, series := range []struct {
		name  string
		looks int
		// CPU of the deciding goroutine and builds of the same source; otherwise all other kinds
		cpu   bool
		shift float64
		color color.Color
		glyph draw.GlyphDrawer
	}{
		{"CPU, one look", 1, true, 0, blue, draw.CircleGlyph{}},
		{fmt.Sprintf("CPU, up to %d looks", t.Looks), t.Looks, true, 0.06, green, draw.SquareGlyph{}},
		{"other changes, one look", 1, false, -0.06, orange, draw.TriangleGlyph{}},
	} {
		points := powerPoints(t, series.looks, series.cpu)
		for i := range points {
			points[i].x += series.shift // so that intervals of the same change do not overlap
			limit = max(limit, points[i].x)
		}
		if err := addIntervals(p, series.name, points, series.color, series.glyph, series.cpu); err != nil {
			return nil, err
		}
		drawn = drawn || len(points) > 0
	}
	if !drawn {
		return nil, errNothingToPlot
	}
	p.X.Min, p.X.Max = -0.5, math.Ceil(limit)+1
	p.X.Tick.Marker = plot.ConstantTicks(fromZero(p.X.Max))
	p.Y.Min, p.Y.Max = 0, 140
	var ticks []plot.Tick
	for percent := 0.0; percent <= 100; percent += 20 {
		ticks = append(ticks, plot.Tick{Value: percent, Label: render.Digits(percent, 3)})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	return svg(p)
}

// powerPoints returns the points of a series, in percent, from its disjoint trials.
func powerPoints(t *gate.SelfTest, looks int, cpu bool) (points []intervalPoint) {
	for _, k := range t.Kinds {
		trial, ok := k.Trial(looks, true)
		if !ok || cpu != (k.Same() || k.Fault == "work") {
			continue
		}
		f, ok := k.Figure(k.Metric)
		if !ok && !k.Same() {
			continue // its loss is unknown
		}
		points = append(points, intervalPoint{
			x: 100 * f.Loss, value: 100 * float64(trial.Red()) / float64(trial.Trials), low: 100 * trial.Low, high: 100 * trial.High,
		})
	}
	return points
}

// addIntervals draws one series: a dot with its interval for each point, and a line through those
// of a curve. A series without a name is not in the legend.
func addIntervals(p *plot.Plot, name string, points []intervalPoint, c color.Color, glyph draw.GlyphDrawer, curve bool) error {
	if len(points) == 0 {
		return nil
	}
	xys := make(plotter.XYs, len(points))
	for i, point := range points {
		xys[i] = plotter.XY{X: point.x, Y: point.value}
		bar, err := plotter.NewLine(plotter.XYs{{X: point.x, Y: point.low}, {X: point.x, Y: point.high}})
		if err != nil {
			return fmt.Errorf("draw an interval: %w", err)
		}
		bar.LineStyle = draw.LineStyle{Color: c, Width: vg.Points(1.5)}
		p.Add(bar)
	}
	dots, err := plotter.NewScatter(xys)
	if err != nil {
		return fmt.Errorf("draw the values: %w", err)
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(3.5), Shape: glyph}
	if curve {
		line, err := plotter.NewLine(xys)
		if err != nil {
			return fmt.Errorf("draw a curve: %w", err)
		}
		line.LineStyle = draw.LineStyle{Color: c, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}
		p.Add(line)
	}
	p.Add(dots)
	if name != "" {
		p.Legend.Add(name, dots)
	}
	return nil
}

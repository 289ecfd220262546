package plots

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Point is a value with its interval at a position of the X axis.
type Point struct{ X, Value, Low, High float64 }

// AddIntervals draws one series: a dot with its interval for each point, and a line through those
// of a curve. A series without a name is not in the legend.
func AddIntervals(p *plot.Plot, name string, points []Point, c color.Color, glyph draw.GlyphDrawer, curve bool) error {
	if len(points) == 0 {
		return nil
	}
	xys := make(plotter.XYs, len(points))
	for i, point := range points {
		xys[i] = plotter.XY{X: point.X, Y: point.Value}
		bar, err := plotter.NewLine(plotter.XYs{{X: point.X, Y: point.Low}, {X: point.X, Y: point.High}})
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

// AddName adds an entry to the legend, once.
func AddName(p *plot.Plot, named map[string]bool, name string, thumbs ...plot.Thumbnailer) {
	if !named[name] {
		p.Legend.Add(name, thumbs...)
		named[name] = true
	}
}

package selftestpage

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/plots"
)

// Plot draws the share of detected changes over their loss, with 95 % intervals.
func Plot(t *gate.SelfTest) ([]byte, error) {
	p := plots.New("Share of changes that the gate detects, by their loss", "measured loss of the figure that calibrates the change (%)", "changes detected (%)")
	p.Add(plots.Grid(false))
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
		{"CPU, one look", 1, true, 0, plots.Blue, draw.CircleGlyph{}},
		{fmt.Sprintf("CPU, up to %d looks", t.Looks), t.Looks, true, 0.06, plots.Green, draw.SquareGlyph{}},
		{"other changes, one look", 1, false, -0.06, plots.Orange, draw.TriangleGlyph{}},
	} {
		points := powerPoints(t, series.looks, series.cpu)
		for i := range points {
			points[i].X += series.shift // so that intervals of the same change do not overlap
			limit = max(limit, points[i].X)
		}
		if err := plots.AddIntervals(p, series.name, points, series.color, series.glyph, series.cpu); err != nil {
			return nil, err
		}
		drawn = drawn || len(points) > 0
	}
	if !drawn {
		return nil, plots.ErrNothing
	}
	p.X.Min, p.X.Max = -0.5, math.Ceil(limit)+1
	p.X.Tick.Marker = plot.ConstantTicks(plots.Ticks(p.X.Max))
	p.Y.Min, p.Y.Max = 0, 140
	var ticks []plot.Tick
	for percent := 0.0; percent <= 100; percent += 20 {
		ticks = append(ticks, plot.Tick{Value: percent, Label: render.Digits(percent, 3)})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	return plots.SVG(p)
}

// powerPoints returns the points of a series, in percent, from its disjoint trials.
func powerPoints(t *gate.SelfTest, looks int, cpu bool) (points []plots.Point) {
	for _, k := range t.Kinds {
		trial, ok := k.Trial(looks, true)
		if !ok || cpu != (k.Same() || k.Fault == "work") {
			continue
		}
		f, ok := k.Figure(k.Metric)
		if !ok && !k.Same() {
			continue // its loss is unknown
		}
		points = append(points, plots.Point{
			X: 100 * f.Loss, Value: 100 * float64(trial.Red()) / float64(trial.Trials), Low: 100 * trial.Low, High: 100 * trial.High,
		})
	}
	return points
}

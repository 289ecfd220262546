package report

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/result"
)

// ratioFar is the largest distance of a drawn ratio from 1: a larger one would hide the others. The
// ratios of single generations are drawn up to generationFar, unless an interval reaches further.
const (
	ratioFar      = 2
	generationFar = 1.15
)

// outcomeColors are distinct colours of the outcomes.
var outcomeColors = map[result.Outcomes]color.Color{
	result.Worsened: plots.Orange, result.Improved: plots.Green, result.Same: plots.Blue, result.Unclear: plots.Black, result.Expected: plots.Blue,
}

// ratioPlot draws the ratio of each metric with its interval in one row, the first on top. The
// control's ratio is below it in grey, and a line at 1 marks no difference. The ratios of a duet's
// generations and the margin are above it. Ratios beyond the axis are drawn at its end.
func ratioPlot(c *comparison) ([]byte, error) {
	all := c.Metrics
	if c.Duet != nil {
		all, _ = splitDeltas(all) // the counters have no interval
	}
	var deltas []result.MetricDelta
	for _, d := range all {
		if d.Ratio > 0 {
			deltas = append(deltas, d)
		}
	}
	if len(deltas) == 0 {
		return nil, plots.ErrNothing
	}
	low, high := 0.98, 1.02
	for _, d := range deltas {
		for _, v := range []float64{d.RatioLow, d.RatioHigh, d.ControlRatioLow, d.ControlRatioHigh} {
			if v > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
		if d.Loss != nil {
			for _, v := range append([]float64{marginOf(d)}, d.Loss.Generations...) {
				low, high = min(low, max(v, 1/generationFar)), max(high, min(v, generationFar))
			}
		}
	}
	low, high = max(low, 1.0/ratioFar), min(high, ratioFar)
	margin := (high - low) * 0.05
	p := plots.New(fmt.Sprintf("%s: change to base, durability %s", c.Scenario, c.manifest.Durability()), "ratio of the change to the base", "")
	p.X.Min, p.X.Max = low-margin, high+margin
	p.X.Tick.Marker = plot.ConstantTicks(plots.RatioTicks(p.X.Min, p.X.Max))
	rows := float64(len(deltas))
	p.Y.Min, p.Y.Max = 0.4, 1.45*rows+0.7 // room for the legend above
	if c.Duet != nil {
		p.Y.Max += 0.6 // two more legend entries
	}
	one, err := plotter.NewLine(plotter.XYs{{X: 1, Y: p.Y.Min}, {X: 1, Y: rows + 0.6}})
	if err != nil {
		return nil, fmt.Errorf("draw the line at 1: %w", err)
	}
	one.LineStyle = draw.LineStyle{Color: plots.TextGrey, Width: vg.Points(1)}
	p.Add(one)
	var names []plot.Tick
	named := map[string]bool{}
	for i, d := range deltas {
		y := rows - float64(i)
		names = append(names, plot.Tick{Value: y, Label: d.Metric})
		if d.ControlRatio > 0 {
			if err := addRatio(p, named, controlName(c), y-0.2, d.ControlRatio, d.ControlRatioLow, d.ControlRatioHigh, plots.Grey); err != nil {
				return nil, err
			}
		}
		if err := addGenerations(p, named, y+0.22, d); err != nil {
			return nil, err
		}
		if err := addRatio(p, named, string(d.Outcome), y, d.Ratio, d.RatioLow, d.RatioHigh, outcomeColors[d.Outcome]); err != nil {
			return nil, err
		}
	}
	p.Y.Tick.Marker = plot.ConstantTicks(names)
	p.Y.Tick.Length = 0
	return plots.SVG(p)
}

func controlName(c *comparison) string {
	if c.Duet != nil {
		return "control: odd to even slices of the base"
	}
	return "control: the base measured again"
}

// marginOf returns the ratio at which the loss of a primary equals its margin.
func marginOf(d result.MetricDelta) float64 {
	if d.Better == result.Higher {
		return 1 - d.Loss.Margin
	}
	return 1 + d.Loss.Margin
}

// addGenerations draws the ratio of each generation of a duet as a small dot, and the margin as a
// short line.
func addGenerations(p *plot.Plot, named map[string]bool, y float64, d result.MetricDelta) error {
	if d.Loss == nil {
		return nil
	}
	points := make(plotter.XYs, len(d.Loss.Generations))
	for i, ratio := range d.Loss.Generations {
		points[i] = plotter.XY{X: math.Min(math.Max(ratio, p.X.Min), p.X.Max), Y: y}
	}
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return fmt.Errorf("draw the generations: %w", err)
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: plots.SkyBlue, Radius: vg.Points(1.5), Shape: draw.CircleGlyph{}}
	p.Add(dots)
	plots.AddName(p, named, "one generation", dots)
	margin := marginOf(d)
	if margin <= p.X.Min || margin >= p.X.Max {
		return nil
	}
	line, err := plotter.NewLine(plotter.XYs{{X: margin, Y: y - 0.45}, {X: margin, Y: y + 0.1}})
	if err != nil {
		return fmt.Errorf("draw a margin: %w", err)
	}
	line.LineStyle = draw.LineStyle{Color: plots.Purple, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(3), vg.Points(2)}}
	p.Add(line)
	plots.AddName(p, named, "margin", line)
	return nil
}

// addRatio draws an interval as a line and the ratio as a dot, both clipped to the axis.
func addRatio(p *plot.Plot, named map[string]bool, name string, y, ratio, low, high float64, c color.Color) error {
	if c == nil {
		c = plots.Black
	}
	within := func(v float64) float64 { return math.Min(math.Max(v, p.X.Min), p.X.Max) }
	line, err := plotter.NewLine(plotter.XYs{{X: within(low), Y: y}, {X: within(high), Y: y}})
	if err != nil {
		return fmt.Errorf("draw an interval: %w", err)
	}
	line.LineStyle = draw.LineStyle{Color: c, Width: vg.Points(2.5)}
	dot, err := plotter.NewScatter(plotter.XYs{{X: within(ratio), Y: y}})
	if err != nil {
		return fmt.Errorf("draw a ratio: %w", err)
	}
	dot.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
	p.Add(line, dot)
	plots.AddName(p, named, name, line, dot)
	return nil
}

package report

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/result"
)

// ratioFar is how far from 1 a ratio is drawn: beyond it the scale would leave nothing to see of the others.
const ratioFar = 2

// outcomeColors tell the outcomes apart.
var outcomeColors = map[result.Outcomes]color.Color{
	result.Worsened: orange, result.Improved: green, result.Same: blue, result.Unclear: black,
}

// ratioPlot draws the ratio of each metric and its interval, a row each, the first on top, with the control's in grey
// below it and a line at 1, where nothing differs. A ratio that is further away than the axis ends at its end.
func ratioPlot(c *comparison) ([]byte, error) {
	var deltas []result.MetricDelta
	for _, d := range c.Metrics {
		if d.Ratio > 0 {
			deltas = append(deltas, d)
		}
	}
	if len(deltas) == 0 {
		return nil, errNothingToPlot
	}
	low, high := 0.98, 1.02
	for _, d := range deltas {
		for _, v := range []float64{d.RatioLow, d.RatioHigh, d.ControlRatioLow, d.ControlRatioHigh} {
			if v > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	low, high = max(low, 1.0/ratioFar), min(high, ratioFar)
	margin := (high - low) * 0.05
	p := newPlot(fmt.Sprintf("%s: change to base, durability %s", c.Scenario, c.manifest.Durability()))
	p.X.Label.Text = "ratio of the change to the base"
	p.X.Min, p.X.Max = low-margin, high+margin
	p.X.Tick.Marker = plot.ConstantTicks(ratioTicks(p.X.Min, p.X.Max))
	rows := float64(len(deltas))
	p.Y.Min, p.Y.Max = 0.4, 1.45*rows+0.7 // room for the legend above
	one, err := plotter.NewLine(plotter.XYs{{X: 1, Y: p.Y.Min}, {X: 1, Y: rows + 0.6}})
	if err != nil {
		return nil, fmt.Errorf("draw the line at 1: %w", err)
	}
	one.LineStyle = draw.LineStyle{Color: textGrey, Width: vg.Points(1)}
	p.Add(one)
	var names []plot.Tick
	named := map[string]bool{}
	for i, d := range deltas {
		y := rows - float64(i)
		names = append(names, plot.Tick{Value: y, Label: d.Metric})
		if d.ControlRatio > 0 {
			if err := addRatio(p, named, "control: the base measured again", y-0.2, d.ControlRatio, d.ControlRatioLow, d.ControlRatioHigh, grey); err != nil {
				return nil, err
			}
		}
		if err := addRatio(p, named, string(d.Outcome), y, d.Ratio, d.RatioLow, d.RatioHigh, outcomeColors[d.Outcome]); err != nil {
			return nil, err
		}
	}
	p.Y.Tick.Marker = plot.ConstantTicks(names)
	p.Y.Tick.Length = 0
	return svg(p)
}

// addRatio draws an interval as a line and the ratio as a dot on it, both within the axis.
func addRatio(p *plot.Plot, named map[string]bool, name string, y, ratio, low, high float64, c color.Color) error {
	if c == nil {
		c = black
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
	if !named[name] {
		p.Legend.Add(name, line, dot)
		named[name] = true
	}
	return nil
}

// ratioTicks marks round ratios, seven or fewer.
func ratioTicks(low, high float64) []plot.Tick {
	step := 0.5
	for _, s := range []float64{0.005, 0.01, 0.02, 0.05, 0.1, 0.2} {
		if (high-low)/s <= 7 {
			step = s
			break
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low / step); i*step <= high && len(ticks) < 20; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: fmt.Sprintf("%.3g", i*step)})
	}
	return ticks
}

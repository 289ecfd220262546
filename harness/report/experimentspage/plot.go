package experimentspage

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/report/plots"
)

// farthest is the largest drawn ratio: a larger one would hide the others.
const farthest = 2

// trailPlot draws the score of each experiment with its interval, in their order, and the
// product of the kept ones as steps.
func trailPlot(steps []step) ([]byte, error) {
	p := plots.New("Scores of the experiments, and the product of the kept ones", "experiment, numbered as in the table", "change to base; below 1 is better")
	p.Add(plots.Grid(false))
	low, high := 0.98, 1.02
	product := plotter.XYs{{X: 0.5, Y: 1}}
	named := map[string]bool{}
	before := 1.0
	for i, s := range steps {
		low, high = min(low, s.Measurement.Score.Low, s.product), max(high, min(s.Measurement.Score.High, farthest))
		x := float64(i + 1)
		product = append(product, plotter.XY{X: x, Y: before}, plotter.XY{X: x, Y: s.product})
		before = s.product
	}
	low = max(low, 0.01)
	margin := (high - low) * 0.05
	p.Y.Min, p.Y.Max = low-margin, high+5*margin // room for the legend above
	p.X.Min, p.X.Max = 0.5, float64(len(steps))+0.5
	product = append(product, plotter.XY{X: p.X.Max, Y: before})
	p.Y.Tick.Marker = plot.ConstantTicks(plots.RatioTicks(p.Y.Min, p.Y.Max))
	p.X.Tick.Marker = plot.ConstantTicks(stepTicks(len(steps)))
	one, err := plotter.NewLine(plotter.XYs{{X: p.X.Min, Y: 1}, {X: p.X.Max, Y: 1}})
	if err != nil {
		return nil, fmt.Errorf("draw the line at 1: %w", err)
	}
	one.LineStyle = draw.LineStyle{Color: plots.TextGrey, Width: vg.Points(1)}
	line, err := plotter.NewLine(product)
	if err != nil {
		return nil, fmt.Errorf("draw the trail: %w", err)
	}
	line.LineStyle = draw.LineStyle{Color: plots.Green, Width: vg.Points(1.5), Dashes: []vg.Length{vg.Points(4), vg.Points(2)}}
	p.Add(one, line)
	p.Legend.Add("product of the kept", line)
	for i, s := range steps {
		name, c := "rejected", color.Color(plots.Orange)
		if s.Kept {
			name, c = "kept", plots.Blue
		}
		if err := addScore(p, named, name, float64(i+1), s, c); err != nil {
			return nil, err
		}
	}
	return plots.SVG(p)
}

// addScore draws an interval as a vertical line and the score as a dot, both clipped to the axis.
func addScore(p *plot.Plot, named map[string]bool, name string, x float64, s step, c color.Color) error {
	within := func(v float64) float64 { return math.Min(math.Max(v, p.Y.Min), p.Y.Max) }
	score := s.Measurement.Score
	line, err := plotter.NewLine(plotter.XYs{{X: x, Y: within(score.Low)}, {X: x, Y: within(score.High)}})
	if err != nil {
		return fmt.Errorf("draw an interval: %w", err)
	}
	line.LineStyle = draw.LineStyle{Color: c, Width: vg.Points(2.5)}
	dot, err := plotter.NewScatter(plotter.XYs{{X: x, Y: within(score.Ratio)}})
	if err != nil {
		return fmt.Errorf("draw a score: %w", err)
	}
	dot.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
	p.Add(line, dot)
	plots.AddName(p, named, name, line, dot)
	return nil
}

// stepTicks returns at most twenty ticks for n experiments.
func stepTicks(n int) (ticks []plot.Tick) {
	every := (n + 19) / 20
	for i := 1; i <= n; i += max(1, every) {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: fmt.Sprint(i)})
	}
	return ticks
}

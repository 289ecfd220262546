package report

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/pronybench/prony/harness/result"
)

// seriesKind is a quantity in a series.
type seriesKind struct {
	title, label string
	of           func(result.Sample) float64
}

var (
	rateSeries   = seriesKind{"cycles per second", "cycles per second (1/s)", func(s result.Sample) float64 { return s.CyclesPerS }}
	diskSeries   = seriesKind{"size of the data folder", "allocated on disk (MB)", func(s result.Sample) float64 { return s.DiskMB }}
	memorySeries = seriesKind{"server memory", "resident memory (MB)", func(s result.Sample) float64 { return s.ServerRSSMB }}
)

// seriesPlot draws a series of each timed round over its window, from zero.
func seriesPlot(r *result.Result, kind seriesKind) ([]byte, error) {
	p := newPlot(fmt.Sprintf("%s: %s, durability %s%s", r.Scenario, kind.title, r.Manifest.Durability(), withInvalid(r)))
	p.X.Label.Text = "time in the window (s)"
	p.Y.Label.Text = kind.label
	p.Add(lightGrid(false))
	drawn, limit, end := 0, 0.0, 0.0
	for _, round := range r.Rounds {
		if len(round.Series) == 0 || drawn == len(lineStyles) {
			continue
		}
		points := make(plotter.XYs, len(round.Series))
		for i, s := range round.Series {
			points[i] = plotter.XY{X: s.AtS, Y: kind.of(s)}
			limit, end = max(limit, kind.of(s)), max(end, s.AtS)
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, fmt.Errorf("plot the series of round %d: %w", round.Number, err)
		}
		line.LineStyle = lineStyles[drawn]
		p.Add(line)
		name := fmt.Sprintf("round %d", round.Number)
		if len(r.Points) > 0 {
			name += ", " + pointName(r, round.Point)
		}
		p.Legend.Add(name, line)
		drawn++
	}
	if limit == 0 {
		return nil, errNothingToPlot
	}
	p.X.Min, p.X.Max = 0, end
	p.X.Tick.Marker = plot.ConstantTicks(fromZero(end))
	p.Y.Min, p.Y.Max = 0, limit*1.35
	p.Y.Tick.Marker = plot.ConstantTicks(fromZero(limit * 1.1))
	return svg(p)
}

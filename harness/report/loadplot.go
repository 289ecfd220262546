package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/result"
)

// loadLines are the percentiles in the plot.
var loadLines = []struct {
	metric, name string
	glyph        draw.GlyphDrawer
}{
	{result.CycleLatencyMs + "_p50", "p50", draw.CircleGlyph{}},
	{result.CycleLatencyMs + "_p99", "p99", draw.TriangleGlyph{}},
	{result.CycleLatencyMs + "_p999", "p99.9", draw.SquareGlyph{}},
}

// loadPlot draws the cycle latency over the offered load of a sweep of an open load: each point's
// percentiles with their lowest and highest round.
func loadPlot(r *result.Result) ([]byte, error) {
	points := slices.Clone(r.Points)
	offered := func(p result.Point) float64 { return p.Metrics[result.OfferedPerS].Median }
	if slices.ContainsFunc(points, func(p result.Point) bool { return !(offered(p) > 0) }) {
		return nil, errNothingToPlot
	}
	slices.SortStableFunc(points, func(a, b result.Point) int { return cmp.Compare(offered(a), offered(b)) })
	if len(points) < 3 || offered(points[len(points)-1]) < 2*offered(points[0]) {
		return nil, errNothingToPlot // not a sweep of the load
	}
	p := newPlot(fmt.Sprintf("%s: cycle latency against load, durability %s%s", r.Scenario, r.Manifest.Durability(), withInvalid(r)))
	p.X.Label.Text, p.Y.Label.Text = "offered load (tasks/s)", "latency (ms)"
	p.Add(lightGrid(false))
	low, high := math.Inf(1), 0.0
	for i, line := range loadLines {
		var drawn []intervalPoint
		for _, point := range points {
			m := point.Metrics[line.metric]
			if !(m.Low > 0) {
				continue
			}
			drawn = append(drawn, intervalPoint{x: offered(point), value: m.Median, low: m.Low, high: m.High})
			low, high = min(low, m.Low), max(high, m.High)
		}
		if err := addIntervals(p, line.name, drawn, lineStyles[i].Color, line.glyph, true); err != nil {
			return nil, err
		}
	}
	if high == 0 {
		return nil, errNothingToPlot
	}
	right := offered(points[len(points)-1])
	p.X.Min, p.X.Max = 0, right*1.05
	p.X.Tick.Marker = plot.ConstantTicks(fromZero(right))
	top := max(high, low*10)
	p.Y.Min, p.Y.Max = low/1.2, top*math.Pow(top/low, 0.3) // room for the legend
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = plot.ConstantTicks(logTicks(low/1.2, top))
	return svg(p)
}

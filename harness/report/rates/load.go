package rates

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/report/runs"
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

// Load draws the cycle latency over the offered load of a sweep of an open load: each point's
// percentiles with their lowest and highest round.
func Load(r *result.Result) ([]byte, error) {
	points := slices.Clone(r.Points)
	offered := func(p result.Point) float64 { return p.Metrics[result.OfferedPerS].Median }
	if slices.ContainsFunc(points, func(p result.Point) bool { return !(offered(p) > 0) }) {
		return nil, plots.ErrNothing
	}
	slices.SortStableFunc(points, func(a, b result.Point) int { return cmp.Compare(offered(a), offered(b)) })
	if len(points) < 3 || offered(points[len(points)-1]) < 2*offered(points[0]) {
		return nil, plots.ErrNothing // not a sweep of the load
	}
	p := plots.New(fmt.Sprintf("%s: cycle latency against load, durability %s%s", r.Scenario, r.Manifest.Durability(), runs.WithInvalid(r)), "offered load (tasks/s)", "latency (ms)")
	p.Add(plots.Grid(false))
	low, high := math.Inf(1), 0.0
	for i, line := range loadLines {
		var drawn []plots.Point
		for _, point := range points {
			m := point.Metrics[line.metric]
			if !(m.Low > 0) {
				continue
			}
			drawn = append(drawn, plots.Point{X: offered(point), Value: m.Median, Low: m.Low, High: m.High})
			low, high = min(low, m.Low), max(high, m.High)
		}
		if err := plots.AddIntervals(p, line.name, drawn, plots.Lines[i].Color, line.glyph, true); err != nil {
			return nil, err
		}
	}
	if high == 0 {
		return nil, plots.ErrNothing
	}
	right := offered(points[len(points)-1])
	plots.FromZero(&p.X, right*1.05, right)
	top := max(high, low*10)
	p.Y.Min, p.Y.Max = low/1.2, top*math.Pow(top/low, 0.3) // room for the legend
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = plot.ConstantTicks(plots.LogTicks(low/1.2, top))
	return plots.SVG(p)
}

package report

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/result"
)

// serialPlot has a position for each setting except the waits, in the order of the points.
func serialPlot(s *result.Serial) ([]byte, error) {
	p := plots.New("Work per request that the deciding goroutine can do", "server procs / generator procs / connections × requests in flight", "budget (ns for each request)")
	p.Add(plots.Grid(false))
	at := map[string]float64{}
	var ticks []plot.Tick
	limit := 0.0
	for _, series := range []struct {
		waits string
		shift float64 // so that the intervals of one setting do not overlap
		color color.Color
		glyph draw.GlyphDrawer
	}{{result.WaitsParking, -0.05, plots.Blue, draw.CircleGlyph{}}, {result.WaitsSpinning, 0.05, plots.Orange, draw.TriangleGlyph{}}} {
		var points []plots.Point
		for _, point := range s.Points {
			if point.Waits != series.waits || point.Budget == nil {
				continue
			}
			setting := fmt.Sprintf("%d/%d/%d×%d", point.ServerProcs, point.GeneratorProcs, point.Connections, point.InFlight)
			place, known := at[setting]
			if !known {
				place = float64(len(at))
				at[setting] = place
				ticks = append(ticks, plot.Tick{Value: place, Label: setting})
			}
			points = append(points, plots.Point{X: place + series.shift, Value: point.Budget.WorkNs, Low: point.Budget.LowNs, High: point.Budget.HighNs})
			limit = max(limit, point.Budget.HighNs)
		}
		if err := plots.AddIntervals(p, series.waits, points, series.color, series.glyph, false); err != nil {
			return nil, err
		}
	}
	if len(at) == 0 {
		return nil, plots.ErrNothing
	}
	p.X.Min, p.X.Max = -0.5, float64(len(at))-0.5
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	plots.FromZero(&p.Y, limit*1.3, limit*1.2)
	return plots.SVG(p)
}

package report

import (
	"errors"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/result"
)

func serialFigure(s *result.Serial) (f figure, err error) {
	f = figure{file: serialName + ".svg", caption: "Budget of each setting with its 95 % interval, with parking and with spinning waits"}
	if f.svg, err = serialPlot(s); errors.Is(err, errNothingToPlot) {
		err = nil
	}
	return f, err
}

// serialPlot has a position for each setting except the waits, in the order of the points.
func serialPlot(s *result.Serial) ([]byte, error) {
	p := newPlot("Work per request that the deciding goroutine can do")
	p.Y.Label.Text = "budget (ns for each request)"
	p.Add(lightGrid(false))
	at := map[string]float64{}
	var ticks []plot.Tick
	limit := 0.0
	for _, series := range []struct {
		waits string
		shift float64 // so that the intervals of one setting do not overlap
		color color.Color
		glyph draw.GlyphDrawer
	}{{result.WaitsParking, -0.05, blue, draw.CircleGlyph{}}, {result.WaitsSpinning, 0.05, orange, draw.TriangleGlyph{}}} {
		var points []intervalPoint
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
			points = append(points, intervalPoint{place + series.shift, point.Budget.WorkNs, point.Budget.LowNs, point.Budget.HighNs})
			limit = max(limit, point.Budget.HighNs)
		}
		if err := addIntervals(p, series.waits, points, series.color, series.glyph, false); err != nil {
			return nil, err
		}
	}
	if len(at) == 0 {
		return nil, errNothingToPlot
	}
	p.X.Label.Text = "server procs / generator procs / connections × requests in flight"
	p.X.Min, p.X.Max = -0.5, float64(len(at))-0.5
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Min, p.Y.Max = 0, limit*1.3
	p.Y.Tick.Marker = plot.ConstantTicks(fromZero(limit * 1.2))
	return svg(p)
}

// Package rates draws the rate of a run: of its rounds, of the points of a sweep, and the latency
// against the offered load.
package rates

import (
	"fmt"
	"image/color"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

// Rounds draws the cycles per second of each round from zero, the median of the timed
// rounds, and the band of its interval or range. It marks invalid rounds. Profiled rounds have
// their own style, because the median does not include them.
func Rounds(r *result.Result) ([]byte, error) {
	if len(r.Points) > 0 {
		return nil, plots.ErrNothing // rounds of different points are not repetitions
	}
	p := plots.New(fmt.Sprintf("%s: cycles per second by round, durability %s%s", r.Scenario, r.Manifest.Durability(), runs.Polling(r)), "round", "cycles per second (1/s)")
	var timed, invalid, profiled, calibration plotter.XYs
	var names []plot.Tick
	limit := 0.0
	for i, round := range r.Rounds {
		at := float64(i + 1)
		names = append(names, plot.Tick{Value: at, Label: strconv.Itoa(round.Number)})
		rate, measured := round.Metrics[result.CyclesPerS]
		if !measured {
			continue
		}
		limit = max(limit, rate)
		switch {
		case round.Profiled:
			profiled = append(profiled, plotter.XY{X: at, Y: rate})
		case round.Calibration:
			calibration = append(calibration, plotter.XY{X: at, Y: rate})
		case round.Verdict == result.Invalid:
			invalid = append(invalid, plotter.XY{X: at, Y: rate})
		default:
			timed = append(timed, plotter.XY{X: at, Y: rate})
		}
	}
	if limit == 0 {
		return nil, plots.ErrNothing
	}
	last := float64(len(r.Rounds))
	metric, summarised := r.Metrics[result.CyclesPerS]
	p.Add(plots.Grid(false))
	if err := addBars(p, timed, plots.Blue, "timed round"); err != nil {
		return nil, err
	}
	if err := addBars(p, invalid, plots.Purple, "timed round that is invalid"); err != nil {
		return nil, err
	}
	if err := addBars(p, profiled, plots.Grey, "profiled round, not in the median"); err != nil {
		return nil, err
	}
	if err := addBars(p, calibration, plots.SkyBlue, "closed round that found the peak, not in the median"); err != nil {
		return nil, err
	}
	if summarised {
		limit = max(limit, metric.High)
		if err := addMedian(p, metric, last); err != nil {
			return nil, err
		}
	}
	p.X.Min, p.X.Max = 0.5, last+0.5
	p.Y.Min = 0
	p.Y.Max = limit * 1.35 // room for the legend
	p.X.Tick.Marker = plot.ConstantTicks(plots.Thin(names, 25))
	p.X.Tick.Length = 0
	p.Y.Tick.Marker = plot.ConstantTicks(plots.Ticks(limit * 1.1))
	return plots.SVG(p)
}

// addBars draws a bar from zero for each round, all in one colour.
func addBars(p *plot.Plot, points plotter.XYs, fill color.Color, name string) error {
	for i, point := range points {
		const half = 0.31
		bar, err := plotter.NewPolygon(plotter.XYs{
			{X: point.X - half, Y: 0},
			{X: point.X - half, Y: point.Y},
			{X: point.X + half, Y: point.Y},
			{X: point.X + half, Y: 0},
		})
		if err != nil {
			return fmt.Errorf("draw a bar: %w", err)
		}
		bar.Color = fill
		bar.Width = 0
		p.Add(bar)
		if i == 0 {
			p.Legend.Add(name, bar)
		}
	}
	return nil
}

func addMedian(p *plot.Plot, m result.Metric, last float64) error {
	left, right := 0.5, last+0.5
	band, err := plotter.NewPolygon(plotter.XYs{{X: left, Y: m.Low}, {X: left, Y: m.High}, {X: right, Y: m.High}, {X: right, Y: m.Low}})
	if err != nil {
		return fmt.Errorf("draw the interval: %w", err)
	}
	band.Color = plots.BandShade
	band.Width = 0
	line, err := plotter.NewLine(plotter.XYs{{X: left, Y: m.Median}, {X: right, Y: m.Median}})
	if err != nil {
		return fmt.Errorf("draw the median: %w", err)
	}
	line.LineStyle = draw.LineStyle{Color: plots.Orange, Width: vg.Points(2)}
	p.Add(band, line)
	p.Legend.Add(fmt.Sprintf("median %s/s, and %s to %s: %s", render.Number(m.Median), render.Number(m.Low), render.Number(m.High), result.Spread(m.N, "round")), band, line)
	return nil
}

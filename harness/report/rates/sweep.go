package rates

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

// logarithmicFrom is the ratio of the largest to the smallest rate of a sweep from which on the
// axis is logarithmic.
const logarithmicFrom = 20

// Sweep draws the cycles per second of each point over the first sweep's values, which are at
// equal distances in the order of the file. Each combination of the other sweeps' values has its
// own line, and each median its interval or range. The points of different targets are not
// connected.
func Sweep(r *result.Result) ([]byte, error) {
	lines, names := sweepLines(r)
	if len(lines) == 0 || len(lines) > len(plots.Lines) {
		return nil, plots.ErrNothing // no data, or too many lines to distinguish
	}
	p := plots.New(fmt.Sprintf("%s: cycles per second, durability %s%s%s", r.Scenario, r.Manifest.Durability(), runs.Polling(r), runs.WithInvalid(r)), r.Points[0].Values[0].Key, "cycles per second (1/s)")
	p.Add(plots.Grid(false))
	ordered := !slices.Contains(strings.Split(r.Points[0].Values[0].Path, ", "), "target.name")
	least, limit := math.Inf(1), 0.0
	for i, l := range lines {
		for _, at := range l.points {
			least, limit = min(least, at.low), max(limit, at.high)
		}
		if err := l.draw(p, plots.Lines[i], ordered); err != nil {
			return nil, err
		}
	}
	var ticks []plot.Tick
	for i, name := range names {
		ticks = append(ticks, plot.Tick{Value: float64(i + 1), Label: name})
	}
	p.X.Min, p.X.Max = 0.5, float64(len(names))+0.5
	p.X.Tick.Marker = plot.ConstantTicks(plots.Thin(ticks, 16))
	const room = 1.35 // for the legend
	if least > 0 && limit >= least*logarithmicFrom {
		p.Y.Scale = plot.LogScale{}
		p.Y.Min, p.Y.Max = least/1.2, limit*math.Pow(limit/least, room-1)
		p.Y.Tick.Marker = plot.ConstantTicks(plots.LogTicks(p.Y.Min, limit))
	} else {
		plots.FromZero(&p.Y, limit*room, limit*1.1)
	}
	return plots.SVG(p)
}

// sweepLine is one combination of the values of all sweeps except the first.
type sweepLine struct {
	name   string // "workers=8"; "" where there is one sweep
	points []sweepPoint
}

type sweepPoint struct{ x, median, low, high float64 }

// sweepLines groups the points that have a figure into lines, in their order, and returns the first
// sweep's values.
func sweepLines(r *result.Result) (lines []*sweepLine, names []string) {
	byName := map[string]*sweepLine{}
	places := map[string]float64{}
	for _, point := range r.Points {
		value := point.Values[0].Text
		if places[value] == 0 {
			names = append(names, value)
			places[value] = float64(len(names))
		}
		m, found := point.Metrics[result.CyclesPerS]
		if !found {
			continue
		}
		var others []string
		for _, v := range point.Values[1:] {
			others = append(others, v.Settings()...)
		}
		name := strings.Join(others, ", ")
		if byName[name] == nil {
			byName[name] = &sweepLine{name: name}
			lines = append(lines, byName[name])
		}
		byName[name].points = append(byName[name].points, sweepPoint{places[value], m.Median, m.Low, m.High})
	}
	return lines, names
}

// draw draws the points of a line, and connects them if they are ordered.
func (l *sweepLine) draw(p *plot.Plot, style draw.LineStyle, ordered bool) error {
	medians := make(plotter.XYs, len(l.points))
	for i, at := range l.points {
		medians[i] = plotter.XY{X: at.x, Y: at.median}
		spread, err := plotter.NewLine(plotter.XYs{{X: at.x, Y: at.low}, {X: at.x, Y: at.high}})
		if err != nil {
			return fmt.Errorf("draw the spread of a point: %w", err)
		}
		spread.LineStyle = draw.LineStyle{Color: style.Color, Width: vg.Points(1)}
		p.Add(spread)
	}
	line, dots, err := plotter.NewLinePoints(medians)
	if err != nil {
		return fmt.Errorf("draw the points of a sweep: %w", err)
	}
	line.LineStyle = style
	dots.GlyphStyle = draw.GlyphStyle{Color: style.Color, Radius: vg.Points(3.5), Shape: draw.CircleGlyph{}}
	var shown []plot.Thumbnailer
	if ordered {
		p.Add(line)
		shown = append(shown, line)
	}
	p.Add(dots)
	shown = append(shown, dots)
	p.Legend.Add(cmp.Or(l.name, "median and spread"), shown...)
	return nil
}

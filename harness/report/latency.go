package report

import (
	"errors"
	"fmt"
	"image/color"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// curveStyles distinguish the latencies by colour and, in print, by dashes.
var curveStyles = map[string]struct {
	name   string
	color  color.Color
	dashes []vg.Length
}{
	"enqueue":   {"enqueue: call to acknowledgement", plots.Blue, nil},
	"settle":    {"settle: claim to acknowledged settle", plots.Green, []vg.Length{vg.Points(6), vg.Points(3)}},
	"cycle":     {"cycle: enqueue to acknowledged completion", plots.Orange, []vg.Length{vg.Points(2), vg.Points(2)}},
	"service":   {"service: call of enqueue to acknowledgement", plots.Purple, []vg.Length{vg.Points(8), vg.Points(2), vg.Points(2), vg.Points(2)}},
	"read":      {"read: call to answer", plots.SkyBlue, []vg.Length{vg.Points(4), vg.Points(2)}},
	"list":      {"list: call to answer", plots.Purple, []vg.Length{vg.Points(2), vg.Points(4)}},
	"stats":     {"stats: call to answer", plots.Green, []vg.Length{vg.Points(1), vg.Points(2)}},
	"await":     {"await: call to answer", plots.Blue, []vg.Length{vg.Points(8), vg.Points(4)}},
	"late":      {"late: end of the delay to claim", plots.SkyBlue, []vg.Length{vg.Points(1), vg.Points(2)}},
	"extend":    {"extend: call to acknowledgement", plots.Purple, []vg.Length{vg.Points(1), vg.Points(2)}},
	"cancel":    {"cancel: call to notice", plots.Orange, []vg.Length{vg.Points(3), vg.Points(1)}},
	"recurring": {"recurring: due to arrival", plots.Green, []vg.Length{vg.Points(3), vg.Points(1)}},
	"slip":      {"slip: delay of the generator", plots.Black, []vg.Length{vg.Points(1), vg.Points(3)}},
}

// openNames are the names of the latencies that count from the due time of a task in an open load.
var openNames = map[string]string{
	"enqueue": "enqueue: due to acknowledgement",
	"cycle":   "cycle: due to acknowledged completion",
}

// curve is a line of a plot of latencies. histogram is in nanoseconds, and nil without samples.
type curve struct {
	name      string
	style     draw.LineStyle
	histogram *hdrhistogram.Histogram
}

// measurableMs is the smallest latency in a plot. A latency is the difference of two clock
// readings, which take some tens of nanoseconds each, so smaller values are noise of the clock.
const measurableMs = 1e-4

// points returns the latencies in milliseconds over the percentile, with perNine points for each
// nine. A curve ends at the largest sample, where the resolution of the samples ends.
func (c *curve) points(perNine int) (plotter.XYs, error) {
	if c.histogram == nil || c.histogram.TotalCount() == 0 {
		return nil, nil
	}
	all, err := stat.Curve(c.histogram, perNine)
	if err != nil {
		return nil, fmt.Errorf("plot the latency of %s: %w", c.name, err)
	}
	points := make(plotter.XYs, len(all))
	for i, at := range all {
		points[i] = plotter.XY{X: at.Nines, Y: max(at.Value/1e6, measurableMs)}
	}
	return points, nil
}

// latencyCurves returns the latencies of the timed rounds, or the cycle latency of each point of a
// sweep.
func latencyCurves(r *result.Result, hists []result.RoundHistograms) (all []curve, err error) {
	if len(r.Points) > 0 {
		for i, point := range r.Points {
			merged, err := mergeTimed(r.Rounds, hists, point.Number)
			if err != nil && !errors.Is(err, plots.ErrNothing) {
				return nil, fmt.Errorf("latency at %s: %w", point.Name, err)
			}
			all = append(all, curve{point.Name, plots.Lines[i%len(plots.Lines)], merged.Cycle})
		}
		return all, nil
	}
	merged, err := mergeTimed(r.Rounds, hists, 0)
	if err != nil {
		return nil, err
	}
	for _, kind := range merged.Kinds() {
		style := curveStyles[kind.Name]
		name := style.name
		if merged.Slip != nil && openNames[kind.Name] != "" {
			name = openNames[kind.Name]
		}
		all = append(all, curve{name, draw.LineStyle{Color: style.color, Width: vg.Points(2), Dashes: style.dashes}, kind.Histogram})
	}
	return all, nil
}

// latencyPlot draws the latencies of the timed rounds, or of those of each point.
func latencyPlot(r *result.Result, hists []result.RoundHistograms) ([]byte, error) {
	title := "latency by percentile"
	switch {
	case len(r.Points) > len(plots.Lines):
		return nil, plots.ErrNothing // too many lines to distinguish
	case len(r.Points) > 0:
		title = "cycle " + title
	}
	curves, err := latencyCurves(r, hists)
	if err != nil {
		return nil, err
	}
	return curvesPlot(r, title, curves)
}

// curvesPlot draws latency over percentile. Both axes are logarithmic: each nine of the percentile
// has the same width.
func curvesPlot(r *result.Result, title string, curves []curve) ([]byte, error) {
	p := plots.New(fmt.Sprintf("%s: %s, durability %s%s", r.Scenario, title, r.Manifest.Durability(), runs.WithInvalid(r)), "percentile", "latency (ms)")
	p.Add(plots.Grid(true))
	low, high, right := math.Inf(1), 0.0, 0.0
	for _, c := range curves {
		points, err := c.points(40)
		if err != nil {
			return nil, err
		}
		if len(points) == 0 {
			continue
		}
		for _, at := range points {
			low, high, right = min(low, at.Y), max(high, at.Y), max(right, at.X)
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, fmt.Errorf("plot the latency of %s: %w", c.name, err)
		}
		line.LineStyle = c.style
		p.Add(line)
		p.Legend.Add(fmt.Sprintf("%s, n = %s", c.name, render.Count(uint64(c.histogram.TotalCount()))), line)
	}
	if high == 0 {
		return nil, plots.ErrNothing
	}
	p.X.Min, p.X.Max = 0, max(right*1.02, 1)
	p.X.Tick.Marker = plot.ConstantTicks(nineTicks(p.X.Max))
	// The axis spans at least a decade, so that a flat line does not look like a cliff. Above it is
	// space for the legend.
	p.Y.Min = math.Pow(10, math.Floor(math.Log10(low)*4)/4)
	top := max(high, p.Y.Min*10)
	p.Y.Max = top * math.Pow(top/p.Y.Min, 0.4)
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = plot.ConstantTicks(plots.LogTicks(p.Y.Min, top))
	return plots.SVG(p)
}

// nineTicks labels common percentiles, up to limit nines.
func nineTicks(limit float64) []plot.Tick {
	ticks := []plot.Tick{{Value: 0, Label: "0"}, {Value: stat.Nines(50), Label: "50"}}
	label := "90"
	for nines := 1; float64(nines) <= limit && nines <= 18; nines++ {
		ticks = append(ticks, plot.Tick{Value: float64(nines), Label: label})
		switch nines {
		case 1:
			label = "99"
		case 2:
			label = "99.9"
		default:
			label += "9"
		}
	}
	return ticks
}

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
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// curveStyles distinguish the latencies by colour and, in print, by dashes.
var curveStyles = map[string]struct {
	name   string
	color  color.Color
	dashes []vg.Length
}{
	"enqueue": {"enqueue: call to acknowledgement", blue, nil},
	"settle":  {"settle: claim to acknowledged settle", green, []vg.Length{vg.Points(6), vg.Points(3)}},
	"cycle":   {"cycle: enqueue to acknowledged completion", orange, []vg.Length{vg.Points(2), vg.Points(2)}},
	"service": {"service: call of enqueue to acknowledgement", purple, []vg.Length{vg.Points(8), vg.Points(2), vg.Points(2), vg.Points(2)}},
	"read":    {"read: call to answer", skyBlue, []vg.Length{vg.Points(4), vg.Points(2)}},
	"list":    {"list: call to answer", purple, []vg.Length{vg.Points(2), vg.Points(4)}},
	"stats":   {"stats: call to answer", green, []vg.Length{vg.Points(1), vg.Points(2)}},
	"await":   {"await: call to answer", blue, []vg.Length{vg.Points(8), vg.Points(4)}},
	"late":    {"late: end of the delay to claim", skyBlue, []vg.Length{vg.Points(1), vg.Points(2)}},
	"extend":  {"extend: call to acknowledgement", purple, []vg.Length{vg.Points(1), vg.Points(2)}},
	"slip":    {"slip: delay of the generator", black, []vg.Length{vg.Points(1), vg.Points(3)}},
}

// openNames are the names of the latencies that count from the due time of a task in an open load.
var openNames = map[string]string{
	"enqueue": "enqueue: due to acknowledgement",
	"cycle":   "cycle: due to acknowledged completion",
}

// latencyPlot draws latency over percentile. Both axes are logarithmic: each nine of the percentile
// has the same width. Each curve ends at the largest sample, where the resolution of the samples
// ends.
func latencyPlot(r *result.Result, merged result.Histograms) ([]byte, error) {
	curves := newCurves(fmt.Sprintf("%s: latency by percentile, durability %s%s", r.Scenario, r.Manifest.Durability(), withInvalid(r)))
	for _, kind := range merged.Kinds() {
		style := curveStyles[kind.Name]
		name := style.name
		if merged.Slip != nil && openNames[kind.Name] != "" {
			name = openNames[kind.Name]
		}
		if err := curves.add(name, kind.Histogram, draw.LineStyle{Color: style.color, Width: vg.Points(2), Dashes: style.dashes}); err != nil {
			return nil, fmt.Errorf("plot the %s latency: %w", kind.Name, err)
		}
	}
	return curves.svg()
}

// pointLatencyPlot draws the cycle latency of each point of a sweep.
func pointLatencyPlot(r *result.Result, hists []result.RoundHistograms) ([]byte, error) {
	if len(r.Points) > len(lineStyles) {
		return nil, errNothingToPlot // too many lines to distinguish
	}
	curves := newCurves(fmt.Sprintf("%s: cycle latency by percentile, durability %s%s", r.Scenario, r.Manifest.Durability(), withInvalid(r)))
	for i, point := range r.Points {
		merged, err := mergeTimed(r.Rounds, hists, point.Number)
		if errors.Is(err, errNothingToPlot) {
			continue
		}
		if err == nil {
			err = curves.add(point.Name, merged.Cycle, lineStyles[i])
		}
		if err != nil {
			return nil, fmt.Errorf("plot the latency at %s: %w", point.Name, err)
		}
	}
	return curves.svg()
}

// measurableMs is the smallest latency in a plot. A latency is the difference of two clock
// readings, which take some tens of nanoseconds each, so smaller values are noise of the clock.
const measurableMs = 1e-4

// curves is an unfinished plot of latencies.
type curves struct {
	plot             *plot.Plot
	low, high, right float64
}

func newCurves(title string) *curves {
	p := newPlot(title)
	p.X.Label.Text = "percentile"
	p.Y.Label.Text = "latency (ms)"
	p.Add(lightGrid(true))
	return &curves{plot: p, low: math.Inf(1)}
}

// add draws one histogram, if it has samples.
func (c *curves) add(name string, h *hdrhistogram.Histogram, style draw.LineStyle) error {
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	curve, err := stat.Curve(h, 40)
	if err != nil {
		return err
	}
	points := make(plotter.XYs, len(curve))
	for i, at := range curve {
		ms := max(at.Value/1e6, measurableMs)
		points[i] = plotter.XY{X: at.Nines, Y: ms}
		c.low, c.high, c.right = min(c.low, ms), max(c.high, ms), max(c.right, at.Nines)
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.LineStyle = style
	c.plot.Add(line)
	c.plot.Legend.Add(fmt.Sprintf("%s, n = %s", name, render.Count(uint64(h.TotalCount()))), line)
	return nil
}

func (c *curves) svg() ([]byte, error) {
	if c.high == 0 {
		return nil, errNothingToPlot
	}
	p := c.plot
	p.X.Min, p.X.Max = 0, max(c.right*1.02, 1)
	p.X.Tick.Marker = plot.ConstantTicks(nineTicks(p.X.Max))
	// The axis spans at least a decade, so that a flat line does not look like a cliff. Above it is
	// space for the legend.
	p.Y.Min = math.Pow(10, math.Floor(math.Log10(c.low)*4)/4)
	top := max(c.high, p.Y.Min*10)
	p.Y.Max = top * math.Pow(top/p.Y.Min, 0.4)
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = plot.ConstantTicks(logTicks(p.Y.Min, top))
	return svg(p)
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

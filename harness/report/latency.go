package report

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// curveStyles tell the three latencies apart by colour and, in print, by dashes.
var curveStyles = map[string]struct {
	name   string
	color  color.Color
	dashes []vg.Length
}{
	"enqueue": {"enqueue: call to acknowledgement", blue, nil},
	"settle":  {"settle: claim to acknowledged settle", green, []vg.Length{vg.Points(6), vg.Points(3)}},
	"cycle":   {"cycle: enqueue to acknowledged completion", orange, []vg.Length{vg.Points(2), vg.Points(2)}},
}

// latencyPlot draws latency over percentile, both logarithmic: the percentile axis gives each nine the same
// room. Each curve ends at the largest sample, where the samples' resolution ends.
func latencyPlot(r *result.Result, merged result.Histograms) ([]byte, error) {
	p := newPlot(fmt.Sprintf("%s: latency by percentile, durability %s", r.Scenario, r.Manifest.Durability()))
	p.X.Label.Text = "percentile"
	p.Y.Label.Text = "latency (ms)"
	low, high, right := math.Inf(1), 0.0, 0.0
	p.Add(lightGrid(true))
	for _, kind := range merged.Kinds() {
		if kind.Histogram == nil || kind.Histogram.TotalCount() == 0 {
			continue
		}
		curve, err := stat.Curve(kind.Histogram, 40)
		if err != nil {
			return nil, fmt.Errorf("plot the %s latency: %w", kind.Name, err)
		}
		points := make(plotter.XYs, len(curve))
		for i, c := range curve {
			ms := max(c.Value, 1) / 1e6 // a logarithm has no zero: below a nanosecond there is nothing to see
			points[i] = plotter.XY{X: c.Nines, Y: ms}
			low, high, right = min(low, ms), max(high, ms), max(right, c.Nines)
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, fmt.Errorf("plot the %s latency: %w", kind.Name, err)
		}
		style := curveStyles[kind.Name]
		line.LineStyle = draw.LineStyle{Color: style.color, Width: vg.Points(2), Dashes: style.dashes}
		p.Add(line)
		p.Legend.Add(fmt.Sprintf("%s, n = %s", style.name, count(uint64(kind.Histogram.TotalCount()))), line)
	}
	if high == 0 {
		return nil, errNothingToPlot
	}
	p.X.Min, p.X.Max = 0, max(right*1.02, 1)
	p.X.Tick.Marker = plot.ConstantTicks(nineTicks(p.X.Max))
	// At least a decade, so that a flat line does not look like a cliff; above it, room for the legend.
	p.Y.Min = math.Pow(10, math.Floor(math.Log10(low)*4)/4)
	top := max(high, p.Y.Min*10)
	p.Y.Max = top * math.Pow(top/p.Y.Min, 0.4)
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = plot.ConstantTicks(logTicks(p.Y.Min, top))
	return svg(p)
}

// nineTicks labels the percentiles that people name, up to limit nines.
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

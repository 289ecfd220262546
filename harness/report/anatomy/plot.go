package anatomy

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

// partColors are distinct colours for the parts of a bar, after Okabe and Ito. The last one is for
// the remaining parts.
var partColors = []color.Color{
	plots.Blue, plots.Orange, plots.Green, plots.Purple, plots.SkyBlue, color.RGBA{R: 0xf0, G: 0xe4, B: 0x42, A: 0xff}, color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}, plots.Black, plots.Grey,
}

// barHeight is the height of one bar.
const barHeight = 0.55 * vg.Inch

// bar is a stacked bar: one point of a run, or one of its servers.
type bar struct {
	name  string
	parts map[string]float64
}

// Plot draws the parts of the mean cycle of each point: its time as shares, and the CPU time
// of the servers by area. It needs a CPU profile of the servers.
func Plot(r *result.Result) ([]byte, error) {
	var times, areas []bar
	for _, number := range runs.PointNumbers(r) {
		name := "cycle"
		if number != 0 {
			name = runs.PointName(r, number)
		}
		rounds := slices.DeleteFunc(runs.Timed(r), func(round result.Round) bool { return round.Point != number })
		if c := result.MergeCycleTimes(rounds); c.Cycles > 0 {
			times = append(times, bar{name, map[string]float64{}})
			for _, part := range cycleParts(c, result.MergeStages(rounds)) {
				times[len(times)-1].parts[part.kind] += 100 * part.ms / c.CycleMs
			}
		}
		for _, s := range areasOf(r, number) {
			areas = append(areas, bar{prefixed(s.node) + name, map[string]float64{}})
			for _, a := range s.areas {
				areas[len(areas)-1].parts[a.Name] += a.Value / 1e3 / float64(s.cycles)
			}
		}
	}
	if len(areas) == 0 {
		return nil, plots.ErrNothing
	}
	var panels []*plot.Plot
	most := 0
	for _, of := range []struct {
		title, unit string
		bars        []bar
	}{{"time of the mean cycle", "share of the cycle (%)", times}, {"CPU time of the servers by area", "CPU time (µs for each cycle)", areas}} {
		if len(of.bars) == 0 || len(of.bars) > len(plots.Lines) {
			continue
		}
		panel, err := stackedBars(fmt.Sprintf("%s: %s, durability %s%s", r.Scenario, of.title, r.Manifest.Durability(), runs.WithInvalid(r)), of.unit, of.bars)
		if err != nil {
			return nil, err
		}
		panels, most = append(panels, panel), max(most, len(of.bars))
	}
	if len(panels) == 0 {
		return nil, plots.ErrNothing
	}
	return plots.Stack(2.2*vg.Inch+barHeight*vg.Length(most), panels...)
}

// stackedBars draws bars from the top down, with their largest parts separately and the others
// combined. It does not draw parts below zero, which differences of means can be.
func stackedBars(title, unit string, bars []bar) (*plot.Plot, error) {
	p := plots.New(title, unit, "")
	names := largestParts(bars, len(partColors)-1)
	// Lengths of the parts, with small ones combined, from the lowest bar up.
	lengths := make([]map[string]float64, len(bars))
	right := 0.0
	for i, b := range bars {
		parts, total := map[string]float64{}, 0.0
		// A fixed order, because sums of floats depend on it.
		for _, part := range slices.Sorted(maps.Keys(b.parts)) {
			v := b.parts[part]
			if !slices.Contains(names, part) {
				part = restOfParts
			}
			parts[part] += max(v, 0)
			total += max(v, 0)
		}
		lengths[len(bars)-1-i] = parts
		right = max(right, total)
	}
	var below *plotter.BarChart
	// The rest exists only if all other colours are used.
	for i, name := range append(names, restOfParts) {
		values := make(plotter.Values, len(bars))
		for k, parts := range lengths {
			values[k] = parts[name]
		}
		if slices.Max(values) == 0 {
			continue
		}
		chart, err := plotter.NewBarChart(values, barHeight/2)
		if err != nil {
			return nil, fmt.Errorf("draw the parts of bars: %w", err)
		}
		chart.Horizontal, chart.LineStyle.Width, chart.Color = true, 0, partColors[i]
		if below != nil {
			chart.StackOn(below)
		}
		below = chart
		p.Add(chart)
		p.Legend.Add(name, chart)
	}
	var ticks []plot.Tick
	for k, b := range bars {
		ticks = append(ticks, plot.Tick{Value: float64(len(bars) - 1 - k), Label: b.name})
	}
	plots.FromZero(&p.X, right*1.45, right) // room for the legend
	p.Y.Min, p.Y.Max = -0.7, float64(len(bars))-0.3
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Legend.Left, p.Legend.XOffs = false, 0
	return p, nil
}

// restOfParts is the name of the combined small parts.
const restOfParts = "all others"

// largestParts returns the names of at most the given number of parts: those with the largest value
// in any bar.
func largestParts(bars []bar, most int) []string {
	largest := map[string]float64{}
	var names []string
	for _, b := range bars {
		for name, v := range b.parts {
			if _, known := largest[name]; !known {
				names = append(names, name)
			}
			largest[name] = max(largest[name], v)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(largest[b], largest[a]), cmp.Compare(a, b)) })
	return names[:min(len(names), most)]
}

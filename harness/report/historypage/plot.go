package historypage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pronybench/prony/harness/history"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/result"
)

// panelHeight is the height of one figure in the plot of a series.
const panelHeight = 1.9 * vg.Inch

// drawn draws each series that has a figure with at least two records: a panel for each such
// figure, stacked vertically.
func drawn(all []history.Tracked) (figures []doc.Figure, err error) {
	for _, t := range all {
		f := doc.Figure{File: plotFile(t.Key), Caption: "Medians with their intervals over the commits, the oldest first"}
		var panels []*plot.Plot
		for _, track := range t.Tracks {
			if len(track.Samples) < 2 || !slices.Contains(plotted, track.Metric) {
				continue
			}
			panel, err := panelOf(track)
			if err != nil {
				return nil, fmt.Errorf("plot %s of %s: %w", track.Metric, t.Scenario, err)
			}
			panels = append(panels, panel)
		}
		if len(panels) > 0 {
			if f.SVG, err = plots.Stack(panelHeight, panels...); err != nil {
				return nil, err
			}
		}
		figures = append(figures, f)
	}
	return figures, nil
}

// plotFile returns the name of a series' plot, relative to the folder of the page.
func plotFile(k history.Key) string {
	const digits = 8
	sum := sha256.Sum256([]byte(strings.Join([]string{k.Point, k.Durability, k.HostClass, k.CPUModel, k.Settings}, "\n")))
	return fmt.Sprintf("%s/%s-%s.svg", dir, result.Slug(k.Scenario), hex.EncodeToString(sum[:])[:digits])
}

// panelOf draws one figure from zero: medians as a line with their intervals, and a dashed
// line with the effect at each change point.
func panelOf(t history.Track) (*plot.Plot, error) {
	title := t.Metric + ", " + t.Unit
	if t.RelativeTo != "" {
		title = t.Metric + " to " + t.RelativeTo
	}
	p := plots.New(title, "", "")
	p.Title.TextStyle.Font.Size = vg.Points(11)
	p.Title.Padding = vg.Points(4)
	p.Add(plots.Grid(false))
	limit := 0.0
	var medians []plots.Point
	var names []plot.Tick
	for i, s := range t.Samples {
		limit = max(limit, s.High, s.Median)
		medians = append(medians, plots.Point{X: float64(i), Value: s.Median, Low: s.Low, High: s.High})
		names = append(names, plot.Tick{Value: float64(i), Label: render.Commit(s.Commit)})
	}
	if limit == 0 {
		limit = 1 // all figures are 0
	}
	last := float64(len(t.Samples) - 1)
	p.X.Min, p.X.Max = -0.3, last+0.3+0.12*last // room for the label of the newest figure
	p.Y.Min, p.Y.Max = 0, limit*1.25
	p.X.Tick.Marker = plot.ConstantTicks(plots.Thin(names, 6))
	p.Y.Tick.Marker = plot.ConstantTicks(plots.Ticks(limit * 1.1))
	if err := addChanges(p, t); err != nil {
		return nil, err
	}
	if err := plots.AddIntervals(p, "", medians, plots.Blue, draw.CircleGlyph{}, true); err != nil {
		return nil, err
	}
	newest := t.Samples[len(t.Samples)-1]
	return p, addLabel(p, last, newest.Median, render.Number(newest.Median))
}

// addChanges draws a dashed line between the samples around each change point, and the effect at
// its top.
func addChanges(p *plot.Plot, t history.Track) error {
	for _, c := range t.Changes {
		x := float64(c.At) - 0.5
		line, err := plotter.NewLine(plotter.XYs{{X: x, Y: p.Y.Min}, {X: x, Y: p.Y.Max}})
		if err != nil {
			return fmt.Errorf("draw a change point: %w", err)
		}
		line.LineStyle = draw.LineStyle{Color: plots.Orange, Width: vg.Points(1.5), Dashes: []vg.Length{vg.Points(4), vg.Points(2)}}
		p.Add(line)
		effect := "spread"
		if !c.SpreadAlone && c.Ratio != nil {
			effect = render.Change(*c.Ratio)
		}
		if err := addLabel(p, x, p.Y.Max*0.88, effect); err != nil {
			return err
		}
	}
	return nil
}

// addLabel writes text to the right of a place.
func addLabel(p *plot.Plot, x, y float64, label string) error {
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{label}})
	if err != nil {
		return fmt.Errorf("draw a label: %w", err)
	}
	for i := range labels.TextStyle {
		labels.TextStyle[i].Font = p.Legend.TextStyle.Font
		labels.TextStyle[i].Color = plots.TextGrey
	}
	labels.Offset = vg.Point{X: vg.Points(6)}
	p.Add(labels)
	return nil
}

package report

import (
	"errors"
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// seriesLabel is the title of a plot over time, and the label of its axis.
type seriesLabel struct{ title, label string }

// soakFigures makes the plots of a soak, one for each figure. Their file names start with name.
func soakFigures(s *result.Soak, name string) ([]figure, error) {
	var all []figure
	for _, of := range scenario.SoakFigures {
		label := soakTitles[of]
		f := figure{
			file: fmt.Sprintf("%s-%s.svg", name, strings.ReplaceAll(of, "_", "-")), caption: label.title + " over the measured time, for the judged windows",
		}
		if s.Verdict != result.Incorrect {
			var err error
			if f.svg, err = soakPlot(s, of, label); err != nil && !errors.Is(err, errNothingToPlot) {
				return nil, err
			}
		}
		all = append(all, f)
	}
	return all, nil
}

// soakPlot draws one figure of a soak over its measured time, from zero.
func soakPlot(s *result.Soak, of string, label seriesLabel) ([]byte, error) {
	var points plotter.XYs
	const perMinute = 60
	limit := 0.0
	for _, point := range s.Points {
		if value, has := point.Figures[of]; has {
			points = append(points, plotter.XY{X: point.AtS / perMinute, Y: value})
			limit = max(limit, value)
		}
	}
	if limit == 0 {
		return nil, errNothingToPlot
	}
	p := newPlot(fmt.Sprintf("%s: %s, durability %s", s.Scenario, label.title, s.Manifest.Durability()))
	p.X.Label.Text = "measured time (minutes)"
	p.Y.Label.Text = label.label
	p.Add(lightGrid(false))
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, fmt.Errorf("plot %s: %w", of, err)
	}
	line.LineStyle = lineStyles[0]
	p.Add(line)
	end := s.MeasuredS / perMinute
	p.X.Min, p.X.Max = 0, end
	p.X.Tick.Marker = plot.ConstantTicks(fromZero(end))
	p.Y.Min, p.Y.Max = 0, limit*1.2
	p.Y.Tick.Marker = plot.ConstantTicks(fromZero(limit * 1.1))
	return svg(p)
}

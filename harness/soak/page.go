package soak

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

//go:embed page.html
var pageText string

// pageTemplate is a self-contained page: it includes its own styles and plots.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"count": render.Count[uint64], "number": render.Number, "moment": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	"percent": func(p *float64) string { return fmt.Sprintf("%.2f", *p) },
}).Parse(pageText))

// pageRefresh is the time after which browsers reload the page while the soak runs.
const pageRefresh = 10 * time.Second

// pagePlot is a plot of one figure over the measured time.
type pagePlot struct {
	Title  string
	Points string // points of an SVG polyline
	Most   string // largest value, shown as the label at the top of the plot
	Latest string
	Hours  string // measured time, shown as the label at the right end of the plot
}

type pageData struct {
	*result.Soak
	Running  bool
	Refresh  int // in seconds
	Measured string
	Asked    string
	Left     string
	Revision string
	Plots    []pagePlot
	Events   []result.SoakEvent // newest first
}

func (f *folder) writePage(soak *result.Soak, left time.Duration) error {
	text, err := page(soak, left)
	if err != nil {
		return err
	}
	return result.WriteFile(f.file(PageFile), []byte(text))
}

func page(soak *result.Soak, left time.Duration) (string, error) {
	data := pageData{
		Soak: soak, Running: soak.Finished.IsZero(), Refresh: int(pageRefresh.Seconds()), Measured: seconds(soak.MeasuredS), Asked: seconds(soak.ForS),
		Left: left.Round(time.Second).String(), Revision: soak.Manifest.Build.Revision(),
	}
	for _, name := range scenario.SoakFigures {
		data.Plots = append(data.Plots, plotOf(soak, name))
	}
	for i := len(soak.Events) - 1; i >= 0; i-- {
		data.Events = append(data.Events, soak.Events[i])
	}
	var text strings.Builder
	if err := pageTemplate.Execute(&text, data); err != nil {
		return "", fmt.Errorf("write the page of the soak: %w", err)
	}
	return text.String(), nil
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

// The size of a plot, in SVG units.
const (
	plotWidth  = 600
	plotHeight = 120
)

// plotOf plots a figure. It uses the points that have the figure. The vertical axis starts at zero.
func plotOf(soak *result.Soak, name string) pagePlot {
	p := pagePlot{Title: name, Hours: seconds(soak.MeasuredS)}
	most, latest := 0.0, math.NaN()
	for _, point := range soak.Points {
		if value, has := point.Figures[name]; has {
			most, latest = max(most, value), value
		}
	}
	if math.IsNaN(latest) || soak.MeasuredS <= 0 {
		p.Latest = "not measured yet"
		return p
	}
	p.Most, p.Latest = render.Number(most), render.Number(latest)
	if most == 0 {
		most = 1
	}
	var line strings.Builder
	for _, point := range soak.Points {
		if value, has := point.Figures[name]; has {
			fmt.Fprintf(&line, "%.1f,%.1f ", plotWidth*point.AtS/soak.MeasuredS, plotHeight*(1-value/most))
		}
	}
	p.Points = strings.TrimSpace(line.String())
	return p
}

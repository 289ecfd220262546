package htmlreport

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report"
)

// dataFolder is the subfolder of the pages with the data of published pages.
const dataFolder = "data"

// chart is the data of one chart for the script. Names are short, because there are many.
type chart struct {
	Title  string `json:"title"`
	XLabel string `json:"x"`
	YLabel string `json:"y"`
	Nines  bool   `json:"nines,omitempty"`
	Dots   bool   `json:"dots,omitempty"`
	Lines  []line `json:"lines"`
	Bands  []band `json:"bands,omitempty"`
}

type line struct {
	Name  string   `json:"name"`
	N     uint64   `json:"n,omitempty"` // number of samples
	From  figure   `json:"from,omitempty"`
	Step  figure   `json:"step,omitempty"`
	Last  figure   `json:"last,omitempty"`
	X     []figure `json:"x,omitempty"`
	Y     []figure `json:"y"`
	Notes []string `json:"notes,omitempty"`
}

type band struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	From figure `json:"from"`
	To   figure `json:"to"`
}

// figure is a number with the precision that is visible in a chart.
type figure float64

// MarshalJSON implements json.Marshaler.
func (f figure) MarshalJSON() ([]byte, error) {
	v := float64(f)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, fmt.Errorf("%v is not a number that a chart can show", v)
	}
	return json.Marshal(render.Rounded(v, 4))
}

// dataFolders returns the folders that may have data of the pages below a folder: itself, which may
// be a run's, and those below data/.
func dataFolders(folder string) ([]string, error) {
	folders := []string{folder}
	stored, err := os.ReadDir(filepath.Join(folder, dataFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, d := range stored {
		if d.IsDir() {
			folders = append(folders, filepath.Join(folder, dataFolder, d.Name()))
		}
	}
	return folders, nil
}

// readCharts returns the charts of data folders by the file names of their plots.
func readCharts(folders []string) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, dir := range folders {
		charts, err := report.Charts(dir)
		if err != nil {
			return nil, err
		}
		for _, c := range charts {
			if all[c.Plot], err = json.Marshal(newChart(c)); err != nil {
				return nil, fmt.Errorf("chart %s of %s: %w", c.Plot, dir, err)
			}
		}
	}
	return all, nil
}

func newChart(c report.Chart) chart {
	to := chart{Title: c.Title, XLabel: c.XLabel, YLabel: c.YLabel, Nines: c.Nines, Dots: c.Dots}
	for _, l := range c.Lines {
		to.Lines = append(to.Lines, line{l.Name, l.Samples, figure(l.From), figure(l.Step), figure(l.Last), figuresOf(l.X), figuresOf(l.Y), l.Notes})
	}
	for _, b := range c.Bands {
		to.Bands = append(to.Bands, band{b.Kind, b.Name, figure(b.From), figure(b.To)})
	}
	return to
}

func figuresOf(values []float64) []figure {
	all := make([]figure, len(values))
	for i, v := range values {
		all[i] = figure(v)
	}
	return all
}

// chartElement returns the data of a plot's chart as an element, unless the file already has it,
// and the id of that element. Both are "" if the plot has no data.
func (b *book) chartElement(plot string) (data, id string) {
	chart := b.charts[plot]
	if chart == nil {
		return "", ""
	}
	id = "chart/" + html.EscapeString(plot)
	if b.charted[plot] {
		return "", id
	}
	b.charted[plot] = true
	// Package json escapes "<", so no text can end the element.
	return fmt.Sprintf("<script type=\"application/json\" id=\"%s\">%s</script>", id, chart), id
}

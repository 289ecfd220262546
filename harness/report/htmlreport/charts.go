package htmlreport

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pronybench/prony/harness/report"
)

// dataFolder is the subfolder of the pages with the data of published pages.
const dataFolder = "data"

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

// plotData is the data of a plot as JSON, and its kind: "chart" or "flame", a flame graph without a
// plot.
type plotData struct {
	kind string
	json []byte
}

// readCharts adds the charts of data folders to all, by the file names of their plots.
func readCharts(folders []string, all map[string]plotData) error {
	for _, dir := range folders {
		charts, err := report.Charts(dir)
		if err != nil {
			return err
		}
		for _, c := range charts {
			text, err := json.Marshal(c)
			if err != nil {
				return fmt.Errorf("chart %s of %s: %w", c.Plot, dir, err)
			}
			all[c.Plot] = plotData{"chart", text}
		}
	}
	return nil
}

// openFigure returns the start of the figure of a plot, with the plot's data if it has some and the
// file does not have them yet.
func (b *book) openFigure(plot string) string {
	data, has := b.data[plot]
	if !has {
		return "<figure>"
	}
	id := data.kind + "/" + html.EscapeString(plot)
	figure := fmt.Sprintf("<figure data-%s=\"%s\">", data.kind, id)
	if !b.written[plot] {
		b.written[plot] = true
		// Package json escapes "<", so no text can end the element.
		figure += fmt.Sprintf("<script type=\"application/json\" id=\"%s\">%s</script>", id, data.json)
	}
	return figure
}

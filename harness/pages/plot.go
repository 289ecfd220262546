package pages

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// image matches a plot of a page: its text and its file.
var image = regexp.MustCompile(`!\[([^\]]*)\]\(([^)]+)\.svg\)`)

// selfTest is the page of the gate's self-test, which has no run.
const selfTest = "selftest"

// PlotsDir is a folder in the folder of all reports. It contains copies of the data's plots that
// pages show.
const PlotsDir = "plots"

// plot shows a plot from the page of the data, with the same text as on that page. The page of the
// gate's self-test is in the folder of all reports.
func (w *writer) plot(name, kind string) (string, error) {
	folder := w.set.rendered
	switch {
	case name == selfTest:
		folder = w.set.reports
	case !slices.Contains(w.set.data.names, name):
		return "", refuse("there is no data of %q: %s", name, meant(name, append(w.set.data.names, selfTest)))
	}
	page := filepath.Join(folder, name+".md")
	text, err := os.ReadFile(page)
	if errors.Is(err, fs.ErrNotExist) {
		return "", refuse("there is no page %s with the plots of %q: render it first with make pages", page, name)
	}
	if err != nil {
		return "", err
	}
	var kinds []string
	for _, found := range image.FindAllStringSubmatch(string(text), -1) {
		has := strings.TrimPrefix(found[2], name+"-")
		if has == kind {
			return w.shown(found[1], filepath.Join(folder, found[2]+".svg"), name == selfTest)
		}
		kinds = append(kinds, has)
	}
	return "", refuse("%q has no plot %q: %s", name, kind, meant(kind, kinds))
}

// shown returns the image of a plot. It copies the plot into PlotsDir, unless the plot is already
// stored next to the pages.
func (w *writer) shown(text, file string, stored bool) (string, error) {
	w.plots++
	name := filepath.Base(file)
	if stored {
		return fmt.Sprintf("![%s](%s)", text, name), nil
	}
	svg, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	w.drawn = append(w.drawn, Page{w.page.source, filepath.Join(w.set.reports, PlotsDir, name), string(svg)})
	return fmt.Sprintf("![%s](%s)", text, path.Join(PlotsDir, name)), nil
}

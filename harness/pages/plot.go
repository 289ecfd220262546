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

// plot shows a plot of the page of the data with its original text. The page of the gate's
// self-test is in the folder of the set.
func (w *writer) plot(name, kind string) (string, error) {
	folder := dataPages
	switch {
	case name == selfTest:
		folder = "."
	case !slices.Contains(w.set.data.names, name):
		return "", refuse("there is no data of %q: %s", name, meant(name, append(w.set.data.names, selfTest)))
	}
	page := filepath.Join(w.set.reports, folder, name+".md")
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
			w.plots++
			return fmt.Sprintf("![%s](%s.svg)", found[1], path.Join(folder, found[2])), nil
		}
		kinds = append(kinds, has)
	}
	return "", refuse("%q has no plot %q: %s", name, kind, meant(kind, kinds))
}

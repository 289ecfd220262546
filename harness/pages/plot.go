package pages

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// image is a plot of a page: its text and its file.
var image = regexp.MustCompile(`!\[([^\]]*)\]\(([^)]+)\.svg\)`)

// plot shows a plot of the page of the data, with the text that it has there.
func (w *writer) plot(name, kind string) (string, error) {
	if !slices.Contains(w.set.data.names, name) {
		return "", refuse("there is no data of %q: %s", name, meant(name, w.set.data.names))
	}
	path := filepath.Join(w.set.reports, dataPages, name+".md")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", refuse("there is no page %s with the plots of %q: render it first, by make pages", path, name)
	}
	if err != nil {
		return "", err
	}
	var kinds []string
	for _, found := range image.FindAllStringSubmatch(string(text), -1) {
		has := strings.TrimPrefix(found[2], name+"-")
		if has == kind {
			w.plots++
			return fmt.Sprintf("![%s](%s/%s.svg)", found[1], dataPages, found[2]), nil
		}
		kinds = append(kinds, has)
	}
	return "", refuse("%q has no plot %q: %s", name, kind, meant(kind, kinds))
}

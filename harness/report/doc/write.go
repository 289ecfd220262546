package doc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pronybench/prony/harness/result"
)

// Figure is a plot of a page. SVG is nil if the page does not show the plot.
type Figure struct {
	File    string // relative to the page
	Caption string
	SVG     []byte
}

// Write writes a page and its plots into the folder out. It writes the plots first, so that a page
// never links to a missing plot, and removes plots without an SVG that an earlier page had. It
// returns the paths of the written files, the page first.
func Write(out, name string, figures []Figure, text string) ([]string, error) {
	written := []string{filepath.Join(out, name)}
	for _, f := range figures {
		path := filepath.Join(out, f.File)
		if f.SVG == nil {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("report: remove a plot of an earlier rendering: %w", err)
			}
			continue
		}
		if err := result.WriteFile(path, f.SVG); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		written = append(written, path)
	}
	if err := result.WriteFile(written[0], []byte(text)); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return written, nil
}

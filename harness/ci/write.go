package ci

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Names of the files that Write writes.
const (
	SummaryFile     = "summary.md"
	AnnotationsFile = "annotations.txt"
	JUnitFile       = "junit.xml"
	CommentFile     = "comment.md"
)

// Write writes the judgements into the folder in all formats, and creates the folder if it does not
// exist. It replaces files of earlier calls. It must not be called concurrently for the same
// folder.
func Write(folder string, all []Judgement) error {
	junit, err := JUnit(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of the files for CI: %w", err)
	}
	var annotations strings.Builder
	for _, line := range Annotations(all) {
		annotations.WriteString(line + "\n")
	}
	for name, data := range map[string][]byte{
		SummaryFile: []byte(Summary(all)), AnnotationsFile: []byte(annotations.String()), JUnitFile: junit, CommentFile: []byte(Comment(all)),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			return fmt.Errorf("write a file for CI: %w", err)
		}
	}
	return nil
}

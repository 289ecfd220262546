package pages

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

const (
	// SourcesDir is the folder of the sources of the pages, below the folder of all reports.
	SourcesDir = "pages"
	// Index is the page that lists all others.
	Index = "README.md"
	// setFile lists the pages, in SourcesDir.
	setFile = "pages.hcl"
	// bytesMax is the maximum size of each file that is read here.
	bytesMax = 1 << 20
	titleMax = 100
)

var (
	setNames   = hclfile.Names{Blocks: []string{"group"}}
	groupBlock = hclfile.Inner{Names: hclfile.Names{Blocks: []string{"page"}}, Label: "title", Example: `group "TITLE" { ... }`}
	pageBlock  = hclfile.Inner{Names: hclfile.Names{Attributes: []string{"title"}}, Label: "name", Example: `page "NAME" { title = "..." }`}
)

type group struct {
	title string
	pages []*page
}

type page struct {
	name, title string
	source      string // path of its source
}

func (p *page) file() string { return p.name + ".md" }

// readSet reads the list of pages. Each page must have a source, and each source a page.
func readSet(reports string) ([]group, error) {
	folder := filepath.Join(reports, SourcesDir)
	path := filepath.Join(folder, setFile)
	r := hclfile.Reader{BytesMax: bytesMax}
	root := r.File(path, setNames)
	var groups []group
	names := map[string]bool{}
	if root != nil {
		for _, b := range root.Blocks("group", groupBlock) {
			g := group{title: b.Label()}
			for _, inner := range b.Blocks("page", pageBlock) {
				p := &page{
					name:  inner.Label(),
					title: inner.Text("title", hclfile.TextSpec{MaxBytes: titleMax, Required: true, Example: "What replication costs"}),
				}
				p.source = filepath.Join(folder, p.file())
				switch _, err := os.Stat(p.source); {
				case names[p.name]:
					inner.LabelProblem(fmt.Sprintf("page %q is repeated", p.name), "remove one of the two")
				case p.file() == Index || p.name != filepath.Base(p.name):
					inner.LabelProblem(fmt.Sprintf("%q cannot be the name of a page", p.name), "use letters, digits and dashes")
				case err != nil:
					inner.LabelProblem(fmt.Sprintf("page %q has no source", p.name), "write "+p.source+", or remove the page")
				}
				names[p.name] = true
				g.pages = append(g.pages, p)
			}
			groups = append(groups, g)
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	sources, err := Sources(reports)
	if err != nil {
		return nil, err
	}
	for _, source := range sources {
		if name := strings.TrimSuffix(filepath.Base(source), ".md"); !names[name] {
			return nil, &Problem{File: source, Line: 1, Text: fmt.Sprintf("the page is not in %s: add page %q to a group there, or remove the source", path, name)}
		}
	}
	return groups, nil
}

// Sources returns the sorted paths of the sources of pages: all Markdown files of the folder except
// README.md. It returns nil if the folder does not exist.
func Sources(reports string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(reports, SourcesDir, "*.md"))
	if err != nil {
		return nil, fmt.Errorf("look for the sources of pages: %w", err)
	}
	return slices.DeleteFunc(paths, func(path string) bool { return filepath.Base(path) == Index }), nil
}

// Exist reports whether a folder of reports contains a set of written pages.
func Exist(reports string) bool {
	_, err := os.Stat(filepath.Join(reports, SourcesDir, setFile))
	return err == nil
}

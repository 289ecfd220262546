package htmlreport

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/walk"
)

// Bounds of one file.
const (
	pagesMax     = 1000
	pageBytesMax = 8 << 20
	plotBytesMax = 8 << 20
)

// indexPage is the first page. Its links define the order of the others.
const indexPage = "README.md"

// sources are subfolders of the top folder with sources of pages, and without pages.
var sources = []string{"data", "pages", "profiles", "logs"}

// page is a Markdown file of the folder.
type page struct {
	path    string // in the folder, with slashes
	id      string // id of its article
	title   string
	titleID string // id of its heading
	group   string // its folder, "" for the top one
	source  []byte
	root    ast.Node
	anchors map[*ast.Heading]string // by link name
}

// readPages reads the pages below a folder: the index first, then the pages that it links to, in
// their order, then the others by path.
func readPages(folder string) ([]*page, error) {
	paths, err := findPages(folder)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	var pages []*page
	for _, p := range paths {
		read, err := readPage(folder, p, taken)
		if err != nil {
			return nil, err
		}
		pages = append(pages, read)
	}
	return inOrder(pages), nil
}

// findPages returns the paths of the pages below a folder, sorted.
func findPages(folder string) ([]string, error) {
	var paths []string
	err := walk.Dir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && rel != "." && (slices.Contains(sources, rel) || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || path.Ext(rel) != ".md":
			return nil
		case len(paths) == pagesMax:
			return fmt.Errorf("%s has more than %d pages: name a folder with fewer", folder, pagesMax)
		}
		paths = append(paths, rel)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find pages: %w", err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("there is no Markdown page in %s: `prony report` writes the page of a run, and `prony report --publish` that of reports/", folder)
	}
	slices.Sort(paths)
	return paths, nil
}

func readPage(folder, rel string, taken map[string]bool) (*page, error) {
	source, err := readBounded(filepath.Join(folder, filepath.FromSlash(rel)), pageBytesMax)
	if err != nil {
		return nil, fmt.Errorf("read a page: %w", err)
	}
	return newPage(rel, uniqueID("page/"+strings.TrimSuffix(rel, ".md"), taken), source), nil
}

// newPage returns the page of a Markdown file, whose article has the given id.
func newPage(file, id string, source []byte) *page {
	p := &page{path: file, id: id, source: source, root: markdown.Parser().Parse(text.NewReader(source))}
	if group := path.Dir(file); group != "." {
		p.group = group
	}
	p.anchors = doc.Anchors(p.root, source)
	p.title = takeTitle(p)
	return p
}

// takeTitle removes and returns a page's first heading of level 1. Without such a heading it
// returns the page's name. Other headings of level 1 become level 2.
func takeTitle(p *page) string {
	var title *ast.Heading
	for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
		h, is := n.(*ast.Heading)
		if !is || h.Level != 1 {
			continue
		}
		if title == nil {
			title = h
			continue
		}
		h.Level = 2
	}
	if title == nil {
		p.titleID = headingID(p.id, "")
		return strings.TrimSuffix(path.Base(p.path), ".md")
	}
	p.root.RemoveChild(p.root, title)
	p.titleID = headingIn(p, title)
	return doc.TextOf(title, p.source)
}

// inOrder sorts the index first, then the pages that it links to, and then all others by path.
func inOrder(pages []*page) []*page {
	rank := map[string]int{}
	for _, p := range pages {
		if p.path != indexPage {
			continue
		}
		rank[p.path] = -1
		for _, to := range linksOf(p) {
			if _, ranked := rank[to]; !ranked {
				rank[to] = len(rank)
			}
		}
	}
	place := func(p *page) int {
		if at, ranked := rank[p.path]; ranked {
			return at
		}
		return len(rank)
	}
	slices.SortStableFunc(pages, func(a, b *page) int { return place(a) - place(b) })
	return pages
}

// linksOf returns the files in the folder that a page links to, in their order.
func linksOf(p *page) (to []string) {
	// The visitor returns no error.
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, is := n.(*ast.Link); is && entering {
			if t := target(p, string(link.Destination)); t.file != "" {
				to = append(to, t.file)
			}
		}
		return ast.WalkContinue, nil
	})
	return to
}

// uniqueID returns an unused id from the letters, digits and "-_./" of the name, and marks it as
// used.
func uniqueID(name string, taken map[string]bool) string {
	id := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("-_./", c):
			return c
		}
		return '-'
	}, name)
	for free, n := id, 2; ; n++ {
		if !taken[free] {
			taken[free] = true
			return free
		}
		free = fmt.Sprintf("%s-%d", id, n)
	}
}

// readBounded reads a regular file of at most bytesMax bytes.
func readBounded(file string, bytesMax int64) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", file)
	case info.Size() > bytesMax:
		return nil, fmt.Errorf("%s has %d bytes, more than the maximum of %d", file, info.Size(), bytesMax)
	}
	return os.ReadFile(file)
}

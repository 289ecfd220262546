package lint

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"

	"github.com/yuin/goldmark/ast"

	"github.com/pronybench/prony/harness/report/doc"
)

// linter caches the anchors of link targets.
type linter struct{ anchors map[string]map[string]bool }

// links finds links and images whose target within the repository does not exist, or lacks the
// heading. It does not follow links to other hosts.
func (l *linter) links(d *document) (all []Finding, err error) {
	d.walk(func(n ast.Node) bool {
		var to []byte
		switch n := n.(type) {
		case *ast.Link:
			to = n.Destination
		case *ast.Image:
			to = n.Destination
		}
		if to == nil || err != nil {
			return true
		}
		var wrong string
		if wrong, err = l.wrong(d.path, string(to)); wrong != "" {
			all = append(all, d.finding(start(n), Link, "%s", wrong))
		}
		return true
	})
	return all, err
}

// wrong describes the error of a link in a file, or returns "".
func (l *linter) wrong(file, to string) (string, error) {
	u, err := url.Parse(to)
	if err != nil {
		return fmt.Sprintf("the link %q is not an address: %v", to, err), nil
	}
	if u.Scheme != "" || u.Host != "" {
		return "", nil
	}
	target := file
	if u.Path != "" {
		target = filepath.Join(filepath.Dir(file), filepath.FromSlash(u.Path))
	}
	if !exists(target) {
		return fmt.Sprintf("the link %q is dead: there is no %s", to, target), nil
	}
	if u.Fragment == "" || filepath.Ext(target) != ".md" {
		return "", nil
	}
	anchors, err := l.anchorsOf(target)
	if err != nil {
		return "", err
	}
	if !anchors[u.Fragment] {
		return fmt.Sprintf("the link %q is dead: %s has no heading #%s", to, target, u.Fragment), nil
	}
	return "", nil
}

// named matches anchors that HTML in a document sets.
var named = regexp.MustCompile(`<a\s[^>]*\b(?:id|name)="([^"]+)"`)

// anchorsOf returns the possible fragments of links to a Markdown file: its headings as GitHub
// names them, and the names in HTML.
func (l *linter) anchorsOf(path string) (map[string]bool, error) {
	if known := l.anchors[path]; known != nil {
		return known, nil
	}
	d, err := read(path)
	if err != nil {
		return nil, err
	}
	anchors := map[string]bool{}
	for _, name := range doc.Anchors(d.root, d.source) {
		anchors[name] = true
	}
	for _, match := range named.FindAllSubmatch(d.source, -1) {
		anchors[string(match[1])] = true
	}
	l.anchors[path] = anchors
	return anchors, nil
}

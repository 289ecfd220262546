package htmlreport

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// linkTarget is the resolved target of a link.
type linkTarget struct {
	outside  string // the address of a link to another host
	file     string // the path of a link to a file, relative to the folder; it may be outside
	fragment string
}

// schemes are the allowed schemes of links to other hosts.
var schemes = []string{"http", "https", "mailto"}

// target resolves a link of a page. It is empty for a forbidden address.
func target(p *page, to string) linkTarget {
	u, err := url.Parse(to)
	switch {
	case err != nil:
		return linkTarget{}
	case u.Scheme != "":
		if slices.Contains(schemes, strings.ToLower(u.Scheme)) {
			return linkTarget{outside: u.String()}
		}
		return linkTarget{}
	case u.Host != "":
		return linkTarget{}
	case u.Path == "":
		return linkTarget{file: p.path, fragment: u.Fragment}
	}
	return linkTarget{file: path.Join(path.Dir(p.path), u.Path), fragment: u.Fragment}
}

// inside returns the address within the file of a link's target, and "" if its page is not in the
// file. A link to a heading that the page does not have leads to the page, a link to a folder to
// the folder's index, and a link to data to their page.
func (b *book) inside(to linkTarget) string {
	if to.file == "" {
		return ""
	}
	p := b.byPath[to.file]
	if p == nil {
		p = b.byPath[path.Join(to.file, indexPage)]
	}
	if name, ofData := strings.CutPrefix(to.file, "data/"); p == nil && ofData {
		p = b.byPath["scenarios/"+name+".md"]
	}
	if p == nil {
		return ""
	}
	for _, anchor := range p.anchors {
		if anchor == to.fragment {
			return "#" + headingID(p.id, anchor)
		}
	}
	return "#" + p.id
}

func headingID(article, anchor string) string { return article + ":" + anchor }

// headingIn returns the id of a heading, or "" if it has none.
func headingIn(p *page, h *ast.Heading) string {
	anchor := p.anchors[h]
	if anchor == "" {
		return ""
	}
	return headingID(p.id, anchor)
}

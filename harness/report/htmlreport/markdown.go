package htmlreport

import (
	"fmt"
	"html"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/pronybench/prony/harness/report/doc"
)

// extensions are the Markdown extensions of pages.
var extensions = goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify)

var markdown = goldmark.New(extensions)

func (b *book) articleHTML(p *page) (string, error) {
	r := &pageRenderer{book: b, page: p, heading: p.title}
	md := goldmark.New(extensions, goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(r, 1))))
	var out strings.Builder
	if err := md.Renderer().Render(&out, p.source, p.root); err != nil {
		return "", fmt.Errorf("show %s: %w", p.path, err)
	}
	return out.String(), nil
}

// pageRenderer renders the elements that differ from plain Markdown: links to other files,
// forbidden content, and tables.
type pageRenderer struct {
	book    *book
	page    *page
	heading string // the text of the last heading
	tables  int    // below that heading
}

// RegisterFuncs implements renderer.NodeRenderer.
func (r *pageRenderer) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	to.Register(ast.KindHeading, r.renderHeading)
	to.Register(ast.KindParagraph, r.renderParagraph)
	to.Register(ast.KindLink, r.renderLink)
	to.Register(ast.KindAutoLink, r.renderAutoLink)
	to.Register(ast.KindImage, r.renderImage)
	to.Register(ast.KindRawHTML, r.renderRawHTML)
	to.Register(ast.KindHTMLBlock, r.renderHTMLBlock)
	to.Register(east.KindTable, r.renderTable)
	to.Register(east.KindTableCell, r.renderCell)
}

func (r *pageRenderer) renderHeading(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h := n.(*ast.Heading)
	if !entering {
		return ast.WalkContinue, write(w, "</h%d>\n", h.Level)
	}
	r.heading, r.tables = doc.TextOf(h, source), 0
	if id := headingIn(r.page, h); id != "" {
		return ast.WalkContinue, write(w, `<h%d id="%s">`, h.Level, html.EscapeString(id))
	}
	return ast.WalkContinue, write(w, "<h%d>", h.Level)
}

// renderParagraph makes a figure of a paragraph that only has an image, with the data of the plot
// if available. Without scripts the figure is the plot.
func (r *pageRenderer) renderParagraph(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	image, is := n.FirstChild().(*ast.Image)
	switch alone := is && image.NextSibling() == nil; {
	case alone && entering:
		return ast.WalkContinue, write(w, "%s", r.book.openFigure(path.Base(target(r.page, string(image.Destination)).file)))
	case alone:
		return ast.WalkContinue, write(w, "</figure>\n")
	case entering:
		return ast.WalkContinue, write(w, "<p>")
	}
	return ast.WalkContinue, write(w, "</p>\n")
}

func (r *pageRenderer) renderLink(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	to := target(r.page, string(n.(*ast.Link).Destination))
	inside := r.book.inside(to)
	switch {
	case inside != "" || to.outside != "":
		if !entering {
			return ast.WalkContinue, write(w, "</a>")
		}
		return ast.WalkContinue, write(w, "%s", openLink(inside, to.outside))
	case to.file != "": // a file of the repository that is not in the HTML file
		if !entering {
			return ast.WalkContinue, write(w, "</span>")
		}
		return ast.WalkContinue, write(w, `<span class="file" title="%s">`, html.EscapeString(path.Join(r.book.name, to.file)))
	}
	return ast.WalkContinue, nil
}

// openLink starts a link within the file, or otherwise to another host.
func openLink(inside, outside string) string {
	if inside != "" {
		return fmt.Sprintf(`<a href="%s">`, html.EscapeString(inside))
	}
	return fmt.Sprintf(`<a href="%s" rel="noopener noreferrer">`, html.EscapeString(outside))
}

func (r *pageRenderer) renderAutoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	link := n.(*ast.AutoLink)
	if !entering {
		return ast.WalkContinue, nil
	}
	address := string(link.URL(source))
	if link.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(address, "mailto:") {
		address = "mailto:" + address
	}
	label := html.EscapeString(string(link.Label(source)))
	if to := target(r.page, address); to.outside != "" {
		label = openLink("", to.outside) + label + "</a>"
	}
	return ast.WalkContinue, write(w, "%s", label)
}

// renderImage puts a plot of the folder into the article. An image of another host becomes a link,
// because the file makes no request.
func (r *pageRenderer) renderImage(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	label := doc.TextOf(n, source)
	to := target(r.page, string(n.(*ast.Image).Destination))
	if to.file == "" {
		text := html.EscapeString(label)
		if to.outside != "" {
			text = openLink("", to.outside) + text + "</a>"
		}
		return ast.WalkSkipChildren, write(w, "%s", text)
	}
	if r.book.data[path.Base(to.file)].kind == "flame" {
		return ast.WalkSkipChildren, nil // a script draws it
	}
	if !filepath.IsLocal(filepath.FromSlash(to.file)) || path.Ext(to.file) != ".svg" {
		return ast.WalkStop, fmt.Errorf("the image %s is not an SVG in the folder: only these can be put into the file", to.file)
	}
	svg, err := readBounded(filepath.Join(r.book.folder, filepath.FromSlash(to.file)), plotBytesMax)
	if err != nil {
		return ast.WalkStop, fmt.Errorf("the image %s cannot be read: %w", to.file, err)
	}
	shapes, err := inlineSVG(svg, label)
	if err != nil {
		return ast.WalkStop, fmt.Errorf("the image %s cannot be put into the file: %w", to.file, err)
	}
	return ast.WalkSkipChildren, write(w, "%s", shapes)
}

// renderRawHTML shows HTML as text, without comments.
func (r *pageRenderer) renderRawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	text := string(n.(*ast.RawHTML).Segments.Value(source))
	if strings.HasPrefix(text, "<!--") {
		return ast.WalkSkipChildren, nil
	}
	return ast.WalkSkipChildren, write(w, "%s", html.EscapeString(text))
}

func (r *pageRenderer) renderHTMLBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := n.(*ast.HTMLBlock)
	text := string(block.Lines().Value(source))
	if block.HasClosure() {
		text += string(block.ClosureLine.Value(source))
	}
	if strings.HasPrefix(strings.TrimSpace(text), "<!--") {
		return ast.WalkContinue, nil
	}
	return ast.WalkContinue, write(w, "<pre>%s</pre>\n", html.EscapeString(text))
}

// renderTable puts a table into a scrollable box, which takes the focus so that the keyboard can
// scroll it.
func (r *pageRenderer) renderTable(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, write(w, "</table></div>\n")
	}
	r.tables++
	label := "Table: " + r.heading
	if r.tables > 1 {
		label = fmt.Sprintf("Table %d: %s", r.tables, r.heading)
	}
	return ast.WalkContinue, write(w, "<div class=\"table\" role=\"group\" tabindex=\"0\" aria-label=\"%s\"><table>\n", html.EscapeString(label))
}

func (r *pageRenderer) renderCell(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	cell := n.(*east.TableCell)
	tag, attributes := "td", ""
	if cell.Parent().Kind() == east.KindTableHeader {
		tag, attributes = "th", ` scope="col"`
		if cell.FirstChild() == nil {
			tag, attributes = "td", ""
		}
	}
	if !entering {
		return ast.WalkContinue, write(w, "</%s>", tag)
	}
	if cell.Alignment == east.AlignRight {
		attributes += ` class="n"`
	}
	return ast.WalkContinue, write(w, "<%s%s>", tag, attributes)
}

func write(w util.BufWriter, format string, args ...any) error {
	_, err := fmt.Fprintf(w, format, args...)
	return err
}

package htmlreport

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"path/filepath"
	"strings"
)

//go:embed assets
var assets embed.FS

// scripts are the files of a document's script, in this order.
var scripts = []string{"dom.js", "pages.js", "scheme.js", "sort.js", "scale.js", "lines.js", "chart.js", "flame.js", "start.js"}

// early is the script that runs before anything is shown.
const early = `document.documentElement.classList.add("js");`

var layout = template.Must(template.ParseFS(assets, "assets/document.html.tmpl"))

// book is a set of pages that becomes one file.
type book struct {
	folder string
	name   string // name of the folder
	pages  []*page
	byPath map[string]*page
	// data are the data of plots by the plots' file names. written are the plots whose data is
	// already in the file.
	data    map[string]plotData
	written map[string]bool
}

// Document returns the pages below a folder as one HTML file.
func Document(folder string) ([]byte, error) {
	pages, err := readPages(folder)
	if err != nil {
		return nil, fmt.Errorf("make the HTML file: %w", err)
	}
	folders, err := dataFolders(folder)
	if err != nil {
		return nil, fmt.Errorf("make the HTML file: %w", err)
	}
	data := map[string]plotData{}
	if err := readCharts(folders, data); err != nil {
		return nil, fmt.Errorf("make the HTML file: %w", err)
	}
	profiles, err := readFlames(folders)
	if err != nil {
		return nil, fmt.Errorf("make the HTML file: %w", err)
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, fmt.Errorf("make the HTML file: %w", err)
	}
	b := &book{
		folder: folder, name: filepath.Base(absolute), pages: pages, byPath: map[string]*page{}, data: data, written: map[string]bool{},
	}
	for _, p := range pages {
		b.byPath[p.path] = p
	}
	for i := range profiles {
		b.pages = append(b.pages, profiles[i].page(i+1, data))
	}
	content, err := b.content()
	if err != nil {
		return nil, fmt.Errorf("make the HTML file: %w", err)
	}
	var out bytes.Buffer
	if err := layout.Execute(&out, content); err != nil {
		return nil, fmt.Errorf("make the HTML file: %w", err)
	}
	return out.Bytes(), nil
}

// content is the data of the layout.
type content struct {
	Title                string
	Policy               string
	Early, Style, Script template.HTML // elements
	Groups               []group
	Articles             []article
}

// group is a sequence of pages of one folder in the navigation.
type group struct {
	Name  string
	Pages []*article
}

// article is a page.
type article struct {
	ID, TitleID, Title string
	Address            template.URL // address of the article in the file
	Group              string
	Previous, Next     *article
	Body               template.HTML
}

func (b *book) content() (*content, error) {
	style, err := assets.ReadFile("assets/style.css")
	if err != nil {
		return nil, err
	}
	var script strings.Builder
	script.WriteString("(() => {\n\"use strict\";\n")
	for _, name := range scripts {
		part, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return nil, err
		}
		script.Write(part)
	}
	script.WriteString("})();\n")
	c := &content{
		Title: b.title(),
		Policy: fmt.Sprintf("default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; script-src %s %s; style-src %s",
			sourceHash(early), sourceHash(script.String()), sourceHash(string(style))),
		Early:  element("script", early),
		Style:  element("style", string(style)),
		Script: element("script", script.String()),
	}
	for _, p := range b.pages {
		body, err := b.articleHTML(p)
		if err != nil {
			return nil, err
		}
		// The renderer escapes all text, and does not copy HTML of the page.
		c.Articles = append(c.Articles, article{
			ID: p.id, TitleID: p.titleID, Title: p.title, Address: template.URL("#" + p.id), Group: p.group, Body: template.HTML(body),
		})
	}
	c.link()
	return c, nil
}

// link sets the neighbours of each article, and collects the groups of the navigation.
func (c *content) link() {
	for i := range c.Articles {
		a := &c.Articles[i]
		if i > 0 {
			a.Previous = &c.Articles[i-1]
		}
		if i+1 < len(c.Articles) {
			a.Next = &c.Articles[i+1]
		}
		if last := len(c.Groups) - 1; last < 0 || c.Groups[last].Name != a.Group {
			c.Groups = append(c.Groups, group{Name: a.Group})
		}
		last := &c.Groups[len(c.Groups)-1]
		last.Pages = append(last.Pages, a)
	}
}

// title returns the title of the index or of the only page, or otherwise the folder's name.
func (b *book) title() string {
	if first := b.pages[0]; first.path == indexPage || len(b.byPath) == 1 {
		return first.title
	}
	return b.name
}

// element returns a style or a script element. Its text must have exactly the bytes of the hash in
// the policy.
func element(name, text string) template.HTML {
	return template.HTML("<" + name + ">" + text + "</" + name + ">")
}

// sourceHash returns the name of a script or a style in a Content-Security-Policy.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

package pages

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

type entry struct{ question, answer string }

// index returns the page that lists all others: the pages of the set by group, then the pages of
// data, and then the pages of other commands.
func (s *set) index(entries map[*page]entry) (string, error) {
	d := &doc.Document{}
	d.Heading(1, "Performance of Prony")
	d.Paragraph("Each page answers one question. All figures come from the data in `reports/data`. The table at the end of each page has the scenario, the rounds and" +
		" the commit of each of its figures. Brackets without a label hold a 95 %% confidence interval (CI) over" +
		" the rounds of one run.")
	for _, g := range s.groups {
		d.Heading(2, "%s", g.title)
		for _, p := range g.pages {
			e := entries[p]
			d.Heading(3, "[%s](%s)", p.title, p.file())
			d.Paragraph("%s", e.question)
			// Links of ratios refer to the answer's own page.
			d.Paragraph("%s", strings.ReplaceAll(e.answer, "](#", "]("+p.file()+"#"))
		}
	}
	d.Heading(2, "All data")
	d.Paragraph("The latest complete run of each scenario, even if it breaks limits. `bin/prony view` shows its page, with all figures, plots, settings and rounds." +
		" The verdict follows from the limits in `baselines` and in the scenario of the run, as in `prony check reports/data/*`.")
	if err := s.notPassing(d); err != nil {
		return "", err
	}
	if err := s.dataTable(d); err != nil {
		return "", err
	}
	others, err := s.others()
	if err != nil {
		return "", err
	}
	if len(others) > 0 {
		d.Heading(2, "Other pages")
		d.List(others)
	}
	return d.Markdown(), nil
}

func (s *set) dataTable(to *doc.Document) error {
	var rows [][]string
	for _, name := range s.data.names {
		file := filepath.Join(s.rendered, name+".md")
		title, err := title(file)
		if errors.Is(err, os.ErrNotExist) {
			return &Problem{filepath.Join(s.reports, "data", name), 1, fmt.Sprintf("the data have no page: render it first with prony report %s --out %s",
				filepath.Join(s.reports, "data", name), s.rendered)}
		}
		if err != nil {
			return err
		}
		row := []string{fmt.Sprintf("[`%s`](%s)", name, dataLink(name)), title, doc.None, doc.None, doc.None}
		d, err := s.data.open(name)
		if err != nil {
			return err
		}
		if d != nil {
			row[3] = verdictText(d.verdict)
		}
		if d != nil && d.cited() {
			row[2], row[4] = "`"+d.manifest.Durability()+"`", d.started.UTC().Format(time.DateOnly)
		}
		rows = append(rows, row)
	}
	to.Table([]string{"scenario", "title", "durability", "verdict", "date (UTC)"}, rows)
	return nil
}

// notPassing lists the data whose verdict is not pass, each with its broken limit or another
// reason.
func (s *set) notPassing(to *doc.Document) error {
	var items []string
	judged := 0
	for _, name := range s.data.names {
		d, err := s.data.open(name)
		if err != nil {
			return err
		}
		if d != nil {
			judged++
		}
		if d == nil || d.verdict == result.Pass {
			continue
		}
		item := fmt.Sprintf("[`%s`](%s): %s", name, dataLink(name), verdictText(d.verdict))
		if d.why != "" {
			item += ": " + doc.Escape(d.why)
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		to.Paragraph("The verdict of all %d is `%s`.", judged, result.Pass)
		return nil
	}
	to.Paragraph("The verdict of %d of %d is not `%s`:", len(items), judged, result.Pass)
	to.List(items)
	return nil
}

func verdictText(v result.Verdict) string {
	if v == result.Pass {
		return string(v)
	}
	return "**" + string(v) + "**"
}

func (s *set) others() (items []string, err error) {
	paths, err := filepath.Glob(filepath.Join(s.reports, "*.md"))
	if err != nil {
		return nil, fmt.Errorf("look for other pages: %w", err)
	}
	for _, path := range paths {
		file := filepath.Base(path)
		if file == Index || slices.ContainsFunc(s.pages(), func(p *page) bool { return p.file() == file }) {
			continue
		}
		title, err := title(path)
		if err != nil {
			return nil, err
		}
		items = append(items, fmt.Sprintf("[%s](%s)", title, file))
	}
	return items, nil
}

func title(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(strings.TrimPrefix(first, "#")), nil
}

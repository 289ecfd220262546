package pages

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

type entry struct{ question, answer string }

// index returns the page that lists all others: the pages of the set by group, then the pages of
// data, and then the pages of other commands.
func (s *set) index(entries map[*page]entry) (string, error) {
	var b strings.Builder
	b.WriteString("# Performance of Prony\n\n" +
		"Each page answers one question. All figures come from the data in `reports/data`. The table at the end of each page has the scenario, the rounds and" +
		" the commit of each of its figures. Brackets without a label hold a 95 % confidence interval (CI) over" +
		" the rounds of one run.\n\n")
	for _, g := range s.groups {
		fmt.Fprintf(&b, "## %s\n\n", g.title)
		for _, p := range g.pages {
			e := entries[p]
			// Links of ratios refer to the answer's own page.
			fmt.Fprintf(&b, "### [%s](%s)\n\n%s\n\n%s\n\n", p.title, p.file(), e.question, strings.ReplaceAll(e.answer, "](#", "]("+p.file()+"#"))
		}
	}
	data, err := s.dataTable()
	if err != nil {
		return "", err
	}
	broken, err := s.notPassing()
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "## All data\n\nThe latest complete run of each scenario, even if it breaks limits. `bin/prony view` shows its page, with all figures, plots, settings and rounds."+
		" The verdict follows from the limits in `baselines` and in the scenario of the run, as in `prony check reports/data/*`.\n\n%s%s", broken, data)
	others, err := s.others()
	if err != nil {
		return "", err
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, "\n## Other pages\n\n%s\n", strings.Join(others, "\n"))
	}
	return b.String(), nil
}

func (s *set) dataTable() (string, error) {
	var rows [][]string
	for _, name := range s.data.names {
		file := filepath.Join(s.rendered, name+".md")
		title, err := title(file)
		if errors.Is(err, os.ErrNotExist) {
			return "", &Problem{filepath.Join(s.reports, "data", name), 1, fmt.Sprintf("the data have no page: render it first with prony report %s --out %s",
				filepath.Join(s.reports, "data", name), s.rendered)}
		}
		if err != nil {
			return "", err
		}
		row := []string{fmt.Sprintf("[`%s`](%s)", name, dataLink(name)), title, none, none, none}
		d, err := s.data.open(name)
		if err != nil {
			return "", err
		}
		if d != nil {
			row[3] = verdictText(d.verdict)
		}
		if d != nil && d.cited() {
			row[2], row[4] = "`"+d.manifest.Durability()+"`", d.started.UTC().Format(time.DateOnly)
		}
		rows = append(rows, row)
	}
	return render.Table{Header: []string{"scenario", "title", "durability", "verdict", "date (UTC)"}, Rows: rows}.Markdown(), nil
}

// notPassing lists the data whose verdict is not pass, each with its broken limit or another
// reason. It ends with an empty line.
func (s *set) notPassing() (string, error) {
	var items []string
	judged := 0
	for _, name := range s.data.names {
		d, err := s.data.open(name)
		if err != nil {
			return "", err
		}
		if d != nil {
			judged++
		}
		if d == nil || d.verdict == result.Pass {
			continue
		}
		item := fmt.Sprintf("- [`%s`](%s): %s", name, dataLink(name), verdictText(d.verdict))
		if d.why != "" {
			item += ": " + doc.Escape(d.why)
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		return fmt.Sprintf("The verdict of all %d is `%s`.\n\n", judged, result.Pass), nil
	}
	return fmt.Sprintf("The verdict of %d of %d is not `%s`:\n\n%s\n\n", len(items), judged, result.Pass, strings.Join(items, "\n")), nil
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
		items = append(items, fmt.Sprintf("- [%s](%s)", title, file))
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

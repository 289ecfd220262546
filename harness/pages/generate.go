package pages

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/lint"
	"github.com/pronybench/prony/harness/result"
)

type set struct {
	reports, root string // the folder of all reports, and the root of the repository
	rendered      string // the folder with the rendered pages of the data
	groups        []group
	data          *store
	cited         map[string]*citation // by metric and work
	tests         map[string][]place   // by name; nil before the first lookup
}

func (s *set) pages() (all []*page) {
	for _, g := range s.groups {
		all = append(all, g.pages...)
	}
	return all
}

// Page is a generated page, or a plot that was drawn for one.
type Page struct {
	Source string // path of its source
	Path   string
	Text   string
}

// Generate returns all pages of the sources in reports/pages, the plots that are drawn for them
// and, last, the index. It writes nothing. The error contains all problems; see Problems. Runs are
// judged by limits; nil means that there are none. The folder rendered contains the pages of all
// data.
func Generate(limits *gate.Baselines, reports, rendered string) ([]Page, error) {
	groups, err := readSet(reports)
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	data, err := newStore(limits, reports)
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	s := &set{reports: reports, rendered: rendered, root: filepath.Dir(filepath.Clean(reports)), groups: groups, data: data, cited: map[string]*citation{}}
	var generated []Page
	var problems []error
	entries := map[*page]entry{}
	all := s.pages()
	for i, p := range all {
		text, drawn, e, err := s.generate(p, navigation(all, i))
		if err != nil {
			problems = append(problems, err)
			continue
		}
		entries[p] = e
		generated = append(append(generated, Page{p.source, filepath.Join(reports, p.file()), text}), drawn...)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	index, err := s.index(entries)
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	return append(generated, Page{filepath.Join(reports, SourcesDir, setFile), filepath.Join(reports, Index), index}), nil
}

// Write generates all pages and writes them. It returns their paths, the index last.
func Write(limits *gate.Baselines, reports, rendered string) (paths []string, err error) {
	generated, err := Generate(limits, reports, rendered)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(reports, PlotsDir), 0o755); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	for _, p := range generated {
		if err := result.WriteFile(p.Path, []byte(p.Text)); err != nil {
			return nil, fmt.Errorf("pages: %w", err)
		}
		paths = append(paths, p.Path)
	}
	unused, err := unusedPlots(reports, generated)
	for _, path := range unused {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return nil, fmt.Errorf("pages: remove plots that no page shows: %w", err)
	}
	return paths, nil
}

// Altered finds the pages whose files differ from those that Generate returns.
func Altered(limits *gate.Baselines, reports, rendered string) (altered []*Problem, err error) {
	generated, err := Generate(limits, reports, rendered)
	if err != nil {
		return nil, err
	}
	for _, p := range generated {
		line, err := lint.Differs(p.Path, p.Text)
		if err != nil {
			return nil, fmt.Errorf("pages: %w", err)
		}
		if line > 0 {
			altered = append(altered, &Problem{p.Path, line, fmt.Sprintf(
				"the page differs from the output of %s and the data: change the source, and run make pages", p.Source)})
		}
	}
	unused, err := unusedPlots(reports, generated)
	if err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	for _, path := range unused {
		altered = append(altered, &Problem{path, 1, "no page shows the plot: run make pages, which removes it"})
	}
	return altered, nil
}

func unusedPlots(reports string, generated []Page) ([]string, error) {
	stored, err := filepath.Glob(filepath.Join(reports, PlotsDir, "*"))
	if err != nil {
		return nil, fmt.Errorf("look for plots: %w", err)
	}
	return slices.DeleteFunc(stored, func(path string) bool {
		return slices.ContainsFunc(generated, func(p Page) bool { return p.Path == path })
	}), nil
}

func (s *set) generate(p *page, navigation string) (text string, drawn []Page, e entry, err error) {
	source, err := os.ReadFile(p.source)
	if err != nil {
		return "", nil, entry{}, fmt.Errorf("pages: %w", err)
	}
	if len(source) > bytesMax {
		return "", nil, entry{}, &Problem{p.source, 1, fmt.Sprintf("the source has more than %s bytes", render.Count(bytesMax))}
	}
	w := &writer{set: s, page: p}
	parsed, err := template.New(p.source).Funcs(w.actions()).Parse(string(source))
	if err != nil {
		return "", nil, entry{}, problem(p.source, err)
	}
	var b strings.Builder
	if err := parsed.Execute(&b, nil); err != nil {
		return "", nil, entry{}, problem(p.source, err)
	}
	body := withoutSilent(b.String())
	question, answer, problems := checked(p, body, w.plots)
	text = fmt.Sprintf("# %s\n\n%s\n\n%s\n\n", p.title, navigation, strings.TrimSpace(body))
	if lines := strings.Count(text, "\n"); lines < linesMin || lines > linesMax {
		problems = append(problems, &Problem{p.source, 1, fmt.Sprintf(
			"the page has %d lines without the table of its figures: a page has %d to %d", lines, linesMin, linesMax)})
	}
	if len(problems) > 0 {
		var all []error
		for _, p := range problems {
			all = append(all, p)
		}
		return "", nil, entry{}, errors.Join(all...)
	}
	return text + w.table() + "\n" + navigation + "\n", w.drawn, entry{question, answer}, nil
}

// withoutSilent removes the lines that contain only actions without output.
func withoutSilent(text string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return strings.Contains(line, silent) && strings.TrimSpace(strings.ReplaceAll(line, silent, "")) == ""
	})
	return strings.ReplaceAll(strings.Join(lines, "\n"), silent, "")
}

func navigation(all []*page, i int) string {
	line := "[Index](" + Index + ")"
	if i > 0 {
		line += fmt.Sprintf(" · Previous: [%s](%s)", all[i-1].title, all[i-1].file())
	}
	if i+1 < len(all) {
		line += fmt.Sprintf(" · Next: [%s](%s)", all[i+1].title, all[i+1].file())
	}
	return line
}

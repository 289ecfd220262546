package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/pages"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/report/lint"
)

// generatedPages finds errors in the sources of pages, and pages that differ from the output of
// their sources and the data.
func generatedPages(limits *gate.Baselines, reports string, sources []string) (all []lint.Finding, err error) {
	if len(sources) == 0 {
		return nil, nil
	}
	found, err := pages.Altered(limits, reports)
	wrong, err := pages.Problems(err)
	for _, p := range slices.Concat(found, wrong) {
		all = append(all, lint.Finding{File: p.File, Line: p.Line, Rule: lint.Generated, Text: p.Text})
	}
	return all, err
}

// generatedDataPages finds pages and plots of published data that differ from what the data
// produce.
func generatedDataPages(limits *gate.Baselines, reports string) (all []lint.Finding, err error) {
	folders, err := filepath.Glob(filepath.Join(reports, "data", "*"))
	if err != nil {
		return nil, fmt.Errorf("look for published data: %w", err)
	}
	out, err := os.MkdirTemp("", "prony-lint-")
	if err != nil {
		return nil, fmt.Errorf("make a folder to render pages into: %w", err)
	}
	defer func() { _ = os.RemoveAll(out) }() // an error leaves only temporary files
	renderer := report.NewRenderer(limits)
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			continue // no data: its page has another finding
		}
		written, err := renderer.Render(folder, out)
		if err != nil {
			return nil, err
		}
		for _, file := range written {
			want, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("read what was rendered: %w", err)
			}
			page := filepath.Join(report.PagesFolder(reports), filepath.Base(file))
			line, err := lint.Differs(page, string(want))
			if err != nil {
				return nil, err
			}
			if line > 0 {
				all = append(all, lint.Finding{File: page, Line: line, Rule: lint.Generated, Text: fmt.Sprintf("the file differs from what %s produces: run make pages", folder)})
			}
		}
	}
	return all, nil
}

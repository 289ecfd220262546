package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/pages"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/report/lint"
)

// generatedPages finds what keeps the sources of pages from making pages, and the pages that are
// not what their sources and the data make.
func generatedPages(limits *gate.Baselines, reports string) (all []lint.Finding, err error) {
	if !pages.Exist(reports) {
		return nil, nil
	}
	rendered, err := os.MkdirTemp("", "prony-lint-")
	if err != nil {
		return nil, fmt.Errorf("make a folder to render pages into: %w", err)
	}
	defer func() { _ = os.RemoveAll(rendered) }() // the folder of temporary files may keep it
	if err := report.RenderData(limits, reports, rendered); err != nil {
		return nil, err
	}
	found, err := pages.Altered(limits, reports, rendered)
	wrong, err := pages.Problems(err)
	for _, p := range slices.Concat(found, wrong) {
		all = append(all, lint.Finding{File: p.File, Line: p.Line, Rule: lint.Generated, Text: p.Text})
	}
	return all, err
}

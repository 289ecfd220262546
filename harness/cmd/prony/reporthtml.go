package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/report/htmlreport"
	"github.com/pronybench/prony/harness/result"
)

// reportHTML writes the pages of a folder, by default the published ones, as one HTML file, and
// prints the file's path.
func reportHTML(c *cobra.Command, limits *gate.Baselines, file string, folders []string, asJSON bool) error {
	if len(folders) > 1 {
		return misused(c, "", "--html writes the pages of one folder, but got %d", len(folders))
	}
	folder := defaultReports
	if len(folders) == 1 {
		folder = folders[0]
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return misused(c, "", "--html %q is a folder: give the file to write, and then the folder with the pages", file)
	}
	document := &result.Document{Verdict: result.Pass, Scenarios: []result.Outcome{}}
	err := during(c.ErrOrStderr(), "writing the pages of "+folder, func(*activity) error {
		text, err := htmlDocument(limits, folder)
		if err != nil {
			return err
		}
		return result.WriteFile(file, text)
	})
	if err == nil {
		document.Pages = []result.Page{{Of: filepath.Clean(folder), Page: file}}
		if !asJSON {
			_, err = fmt.Fprintln(c.OutOrStdout(), file)
		}
	}
	return finish(c, asJSON, document, err)
}

// htmlDocument returns the pages of a folder as one HTML file. It renders the pages of published
// data first, which the repository does not store.
func htmlDocument(limits *gate.Baselines, folder string) ([]byte, error) {
	if err := report.RenderData(limits, folder, report.PagesFolder(folder)); err != nil {
		return nil, err
	}
	return htmlreport.Document(folder)
}

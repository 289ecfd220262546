package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/pages"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

func reportSetCommand() *cobra.Command {
	var reports, baselines string
	var asJSON bool
	c := &cobra.Command{
		Use:   "set",
		Short: "Write the pages that people wrote, with the figures of the published data",
		Long: `Writes the pages of DIR from their sources, DIR/pages/NAME.md, and the index of all pages, DIR/README.md. DIR/pages/pages.hcl says which pages
there are, and in which order. All figures of these pages come from the data in DIR/data, and the plots from the pages of DIR/scenarios, which must
be rendered before. DIR/pages/README.md says how a page is written.

The index lists the verdict of each scenario, as prony check DIR/data/* prints it, with the broken limit unless the verdict is pass.

It fails if a source names something that does not exist, or if a sentence compares figures and the data no longer support it. It then
writes nothing, and prints the file and the line of each error. It prints the path of each page.`,
		Example: "  prony report set --reports reports",
		Args:    noArguments.check,
		RunE: func(c *cobra.Command, _ []string) error {
			limits, err := shownLimits(c, baselines)
			if err != nil {
				return err
			}
			document := &result.Document{Verdict: result.Pass, Scenarios: []result.Outcome{}}
			paths, err := pages.Write(limits, reports, report.PagesFolder(reports))
			for _, path := range paths {
				document.Pages = append(document.Pages, result.Page{Of: filepath.Join(reports, pages.SourcesDir), Page: path, Files: []string{}})
				if asJSON {
					continue
				}
				if _, err := fmt.Fprintln(c.OutOrStdout(), path); err != nil {
					return fmt.Errorf("print the page's path: %w", err)
				}
			}
			return finish(c, asJSON, document, err)
		},
	}
	jsonFlag(c, &asJSON)
	baselinesFlag(c, &baselines)
	c.Flags().StringVar(&reports, "reports", defaultReports, "folder of the published pages")
	return c
}

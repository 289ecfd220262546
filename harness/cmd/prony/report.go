package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

func reportCommand() *cobra.Command {
	var out, publish string
	var asJSON bool
	c := &cobra.Command{
		Use:   "report [RUN...]",
		Short: "Write the Markdown pages of runs and comparisons, with plots",
		Long: `Writes the page of a run, or of a comparison, with its plots as SVG, into its folder, or into --out.
--publish DIR also copies the data that the page is made from to DIR/data, so that the page can be rendered again
from there, byte for byte. Without RUN it takes the newest run. It prints the path of each page.`,
		Example: `  prony report
  prony report --publish reports runs/20261121T171500.123Z-full-cycle`,
		RunE: func(c *cobra.Command, runs []string) error {
			runs, err := orLatest(runs)
			if err != nil {
				return err
			}
			document := &result.Document{Verdict: result.Pass, Scenarios: []result.Outcome{}}
			for _, run := range runs {
				files, err := writePage(run, out, publish)
				if err != nil {
					return finish(c, asJSON, document, err)
				}
				document.Pages = append(document.Pages, result.Page{Of: filepath.Clean(run), Page: files[0], Files: files[1:]})
				if asJSON {
					continue
				}
				if _, err := fmt.Fprintln(c.OutOrStdout(), files[0]); err != nil {
					return fmt.Errorf("print the page's path: %w", err)
				}
			}
			return finish(c, asJSON, document, nil)
		},
	}
	c.Flags().StringVar(&out, "out", "", "folder for the pages, instead of the run's own")
	c.Flags().StringVar(&publish, "publish", "", "folder of published pages, to which the data goes too")
	c.MarkFlagsMutuallyExclusive("out", "publish")
	jsonFlag(c, &asJSON)
	return c
}

func writePage(run, out, publish string) ([]string, error) {
	run = filepath.Clean(run)
	switch {
	case publish != "":
		return report.Publish(run, publish)
	case out != "":
		return report.Render(run, out)
	}
	return report.Render(run, run)
}

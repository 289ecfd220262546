package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

func reportCommand() *cobra.Command {
	var out, publish, format, html, baselines string
	var asJSON bool
	c := &cobra.Command{
		Use:   "report [RUN...]",
		Short: "Write the Markdown pages of runs, comparisons, soaks and serial budgets, with plots",
		Long: `Writes the page of a run, a comparison, a finished soak or a serial budget, with its plots as SVG, into its folder, or into --out.
The verdict on the page of a run is that of prony check with the current limits; stored runs have no verdict of limits. Without RUN it
uses the newest run. The page of an incomplete run shows the stored rounds, and its verdict is invalid. It prints the path of each page.

--publish DIR writes the page into DIR/scenarios, copies the data of the page to DIR/data, so that the page can be rendered again byte
for byte, and adds the headline figures of a run to DIR/history. It publishes the latest complete run of a scenario, even if it breaks
limits. It refuses a run that is invalid or misconfigured, has fewer rounds than its file requires, has uncommitted changes in its tree, or
started before the published run.

--format prints the metrics of one run instead and writes no page: bench (Go's benchmark format, for benchstat), csv (a row for each
metric of each round, for spreadsheets) or k6 (as k6's --summary-export; not for a sweep). prony convert reads these formats, also from
other tools.

--html FILE writes the pages below a folder (default reports/) as one HTML file that needs no network, with a list of pages and sortable
tables. The folder may also be that of a run.`,
		Example: `  prony report
  prony report --format csv runs/20261121T171500.123Z-full-cycle
  prony report --publish reports runs/20261121T171500.123Z-full-cycle
  prony report --html prony.html reports`,
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, runs []string) error {
			if err := errors.Join(oneOfFlags(c, "out", "publish", "format", "html"), oneOfFlags(c, "format", "json")); err != nil {
				return err
			}
			limits, err := shownLimits(c, baselines)
			if err != nil {
				return err
			}
			if html != "" {
				return reportHTML(c, limits, html, runs, asJSON)
			}
			if runs, err = orLatest(runs); err != nil {
				return err
			}
			if format != "" {
				sayIncomplete(c.ErrOrStderr(), runs)
				return printFormat(c.OutOrStdout(), format, runs)
			}
			document := &result.Document{Verdict: result.Pass, Scenarios: []result.Outcome{}}
			p := &pageWriter{stderr: c.ErrOrStderr(), limits: limits, renderer: report.NewRenderer(limits), out: out, publish: publish}
			if publish == "" { // with --publish such a run is an error
				sayIncomplete(c.ErrOrStderr(), runs)
			}
			for _, run := range runs {
				var files []string
				err := during(c.ErrOrStderr(), "writing the page of "+run, func(*activity) (err error) {
					files, err = p.write(c.Context(), run)
					return err
				})
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
	jsonFlag(c, &asJSON)
	baselinesFlag(c, &baselines)
	c.Flags().StringVar(&out, "out", "", "folder for the pages, instead of the run's own")
	c.Flags().StringVar(&publish, "publish", "", "folder of published pages, for the page and its data")
	c.Flags().StringVar(&format, "format", "", "print the metrics of one run instead, as bench, csv or k6")
	c.Flags().StringVar(&html, "html", "", "write all pages of a folder to this HTML file instead")
	completeFlag(c, "format", oneOf("bench", "csv", "k6"))
	c.AddCommand(reportLintCommand(), reportSetCommand())
	return c
}

func sayIncomplete(stderr io.Writer, runs []string) {
	for _, run := range runs {
		if result.Incomplete(run) {
			say(stderr, "%s is incomplete: it has only its stored rounds, and its verdict is not pass", run)
		}
	}
}

// printFormat prints the metrics of one run in a format of another tool.
func printFormat(w io.Writer, format string, runs []string) error {
	formats := map[string]func(io.Writer, *result.Result) error{
		"bench": result.WriteBench, "csv": result.WriteCSV, "k6": result.WriteK6Summary,
	}
	write, known := formats[format]
	switch {
	case !known:
		return fmt.Errorf("--format %q must be bench, csv or k6", format)
	case len(runs) != 1:
		return fmt.Errorf("--format prints one run, but got %d", len(runs))
	}
	r, _, err := result.ReadStored(runs[0])
	if err != nil {
		return err
	}
	return write(w, r)
}

// pageWriter writes the pages of runs to the folder that the command line selects.
type pageWriter struct {
	stderr       io.Writer
	limits       *gate.Baselines
	renderer     *report.Renderer
	out, publish string
}

func (p *pageWriter) write(ctx context.Context, run string) ([]string, error) {
	run = filepath.Clean(run)
	switch {
	case p.publish != "":
		return publishRun(ctx, p.stderr, p.limits, run, p.publish)
	case p.out != "":
		return p.renderer.Render(run, p.out)
	}
	return p.renderer.Render(run, run)
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/fold"
	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/report/terminal"
	"github.com/pronybench/prony/harness/result"
)

func k6Command() *cobra.Command {
	c := &cobra.Command{
		Use:     "k6",
		Short:   "Work on the outcomes of separate k6 processes",
		Long:    `Works on the outcomes of k6 processes that were started by hand, each on a load host. A scenario with driver = "k6" does not need this.`,
		Example: `  prony k6 fold i0.json i1.json`,
	}
	c.AddCommand(k6FoldCommand())
	return c
}

func k6FoldCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "fold FILE...",
		Short: "Merge the outcomes of several k6 processes that shared a load",
		Long: `Reads the outcome file of each k6 process, which the process wrote because ` + k6run.OutcomeEnv + ` named it, and makes one result. It adds
up and cross-checks the accounts and merges the histograms, so no percentile is averaged. The processes must cover the whole load together,
with the same phases and arrivals. An account that does not balance is the verdict incorrect, and failed calls are invalid.

The processes must have been started together: their windows count as simultaneous, and the clocks of their hosts are not compared.`,
		Example: `  prony k6 fold i0.json i1.json
  prony k6 fold --json i0.json i1.json i2.json`,
		Args: arguments{what: "file of a k6 process", least: 1}.check,
		RunE: func(c *cobra.Command, files []string) error {
			var all []*k6run.Instance
			for _, file := range files {
				i, err := fold.Read(file)
				if err != nil {
					return err
				}
				all = append(all, i)
			}
			f, err := fold.Fold(all)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(c, f)
			} else if _, err = fmt.Fprint(c.OutOrStdout(), terminal.Folded(f)); err != nil {
				err = fmt.Errorf("write the result: %w", err)
			}
			if err == nil && f.Verdict != result.Pass {
				err = verdictError{f.Verdict}
			}
			return err
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

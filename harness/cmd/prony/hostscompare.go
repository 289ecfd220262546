package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/hostcompare"
	"github.com/pronybench/prony/harness/report"
)

func hostsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "hosts",
		Short:   "Put what two hosts measured side by side",
		Long:    `Works on the results of two hosts, which may have been measured on different days and copied here.`,
		Example: `  prony hosts compare reports/data ../other/reports/data`,
	}
	c.AddCommand(hostsCompareCommand())
	return c
}

func hostsCompareCommand() *cobra.Command {
	var asJSON, markdown bool
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two hosts by the scenarios that both have measured",
		Long: `Reads two folders of results, such as reports/data of two checkouts or the folder runs of two hosts, and shows for each
scenario that both have with the same configuration: rate, latency at the 50th and 99th percentile and CPU time per cycle of both, with
intervals, and their ratio. The newest run whose figures count is taken of each. Where servers ran, and what a run is called, is no part
of the configuration. What only one folder has, and what has another configuration in the other, is listed and not compared. The
hosts are shown side by side. Nothing is judged: two hosts are not two builds.`,
		Example: `  prony hosts compare reports/data ../other/reports/data
  prony hosts compare --markdown runs-a runs-b`,
		Args: arguments{what: "result folder", least: 2, most: 2}.check,
		RunE: func(c *cobra.Command, folders []string) error {
			if asJSON && markdown {
				return errors.New("--json and --markdown are both given: choose one")
			}
			a, err := hostcompare.Read(folders[0])
			if err != nil {
				return err
			}
			b, err := hostcompare.Read(folders[1])
			if err != nil {
				return err
			}
			compared := hostcompare.Compare(a, b)
			if asJSON {
				return printJSON(c, compared)
			}
			text := report.HostsText(compared)
			if markdown {
				text = report.HostsMarkdown(compared)
			}
			if _, err := fmt.Fprint(c.OutOrStdout(), text); err != nil {
				return fmt.Errorf("write the comparison: %w", err)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&markdown, "markdown", false, "write a page of Markdown")
	jsonFlag(c, &asJSON)
	return c
}

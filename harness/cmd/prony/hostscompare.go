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
		Short:   "Compare the results of two hosts",
		Long:    `Works on the results of two hosts. They may be from different days and copied from elsewhere.`,
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
		Long: `Reads two folders of results, such as reports/data of two checkouts or the runs folders of two hosts. For each scenario that
both measured with the same configuration it shows rate, latency at the 50th and 99th percentile and CPU time per cycle of both,
with intervals, and their ratio. It uses the newest valid run of each. The location of the servers and the name of a run are not
part of the configuration. Scenarios that only one folder has, or that have different configurations, are listed and not
compared. The hosts are shown side by side. Nothing is judged: two hosts are not two builds.`,
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
	c.Flags().BoolVar(&markdown, "markdown", false, "write a Markdown page")
	jsonFlag(c, &asJSON)
	return c
}

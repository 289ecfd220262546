package main

import "github.com/spf13/cobra"

func baselineCommand(args []string) *cobra.Command {
	c := &cobra.Command{
		Use:   "baseline",
		Short: "Explain limits, record observed values, and move the baseline build",
		Example: `  prony baseline explain smoke
  prony baseline propose
  prony baseline move HEAD --because "release 0.3"`,
	}
	c.AddCommand(proposeCommand(), baselineExplainCommand(), baselineMoveCommand(args, compareCommits))
	return c
}

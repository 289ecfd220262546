package main

import "github.com/spf13/cobra"

func baselineCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "baseline",
		Short: "Explain limits, and keep them in line with what runs observed",
		Example: `  prony baseline explain smoke
  prony baseline propose`,
	}
	c.AddCommand(proposeCommand(), baselineExplainCommand())
	return c
}

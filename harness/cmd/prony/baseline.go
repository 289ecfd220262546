package main

import "github.com/spf13/cobra"

func baselineCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "baseline",
		Short: "Explain limits, and keep them in line with what runs observed",
		Args:  cobra.NoArgs,
	}
	c.AddCommand(proposeCommand(), baselineExplainCommand())
	return c
}

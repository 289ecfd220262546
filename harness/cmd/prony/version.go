package main

import (
	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/version"
)

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Say the version of this program and what it was built from",
		Long: `Says the version of this program, the commit that it was built from, whether the source differed from the commit, the
Go version and the platform. A program that 'go install' has built does not know its commit: the table says "unknown",
and the JSON document has no such field.`,
		Example: `  prony version
  prony version --json`,
		Args: noArguments.check,
		RunE: func(c *cobra.Command, _ []string) error {
			v := version.Of()
			if asJSON {
				return printJSON(c, v)
			}
			var rows [][]string
			for _, row := range v.Rows() {
				rows = append(rows, row[:])
			}
			return table(c, make([]string, 2), rows)
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/version"
)

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program and its commit",
		Long: `Prints the version of this program, its commit, whether the source differed from the commit, the Go version and the
platform. A program built with 'go install' does not know its commit: the table then has "unknown", and the JSON document
omits the field.`,
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

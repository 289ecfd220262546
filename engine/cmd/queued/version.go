package main

import (
	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/version"
)

func (a serverCommands) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version and the source of this program",
		Long: `Shows the version of this program, the commit that it was built from, whether the source differed from the
commit, the Go version and the platform. 'queued status' shows the version of a server. A program
built by 'go install' does not know its commit: the table shows "unknown", and the JSON document has no such
field.`,
		Example: `  queued version
  queued version --output json | jq -r .commit`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := version.Of()
			return a.print(v, func(t *table) {
				for _, row := range v.Rows() {
					t.row(row[0], row[1])
				}
			})
		},
	}
}

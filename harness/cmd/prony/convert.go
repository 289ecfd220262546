package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/figures"
)

func convertCommand() *cobra.Command {
	var to string
	var asJSON bool
	c := &cobra.Command{
		Use:   "convert FILE --to FORMAT",
		Short: "Convert figures of other tools between Go's benchmark format, k6's summary and CSV",
		Long: `Reads the figures of a file and prints them in another format. The file may be Go's benchmark format, a k6 summary (from
--summary-export or a script's handleSummary), or CSV with the columns metric and value; its first bytes identify the format.
"-" is the standard input. The output formats are bench (for benchstat), csv (for spreadsheets) and k6 (as k6's
--summary-export, with one value of each metric); --json prints one document with a list of figures.

A file of figures has no host, no settings and no account of tasks, so nothing can be judged by it. For prony's own runs,
prony report --format prints the same formats.`,
		Example: `  prony convert k6-summary.json --to bench
  prony convert bench.txt --to csv`,
		Args: oneFile.check,
		RunE: func(c *cobra.Command, args []string) (err error) {
			writers := map[string]func(io.Writer, []figures.Figure) error{
				"bench": figures.WriteBench, "csv": figures.WriteCSV, "k6": figures.WriteK6,
			}
			write, known := writers[to]
			if !known && !asJSON {
				return misused(c, "", "--to %q is not one of bench, csv and k6", to)
			}
			if err := oneOfFlags(c, "to", "json"); err != nil {
				return err
			}
			in := c.InOrStdin()
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return fmt.Errorf("convert: %w", err)
				}
				defer func() { err = errors.Join(err, f.Close()) }()
				in = f
			}
			all, err := figures.Read(in)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if asJSON {
				return printJSON(c, map[string][]figures.Figure{"figures": all})
			}
			return write(c.OutOrStdout(), all)
		},
	}
	jsonFlag(c, &asJSON)
	c.Flags().StringVar(&to, "to", "", "output format: bench, csv or k6")
	completeFlag(c, "to", oneOf("bench", "csv", "k6"))
	return c
}

// Command queued is the queue server.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{
		Use:           "queued",
		Short:         "A durable task queue server",
		Long:          "queued is a durable, multi-tenant task queue server on one node.\nStart it with 'queued serve'; clients speak gRPC to it.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(serveCommand())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "queued:", err)
		os.Exit(1)
	}
}

// Command prony-peers is the driver program with which Prony measures other queue servers. Prony
// starts it without arguments; see harness/driver/program. `prony-peers list` prints the targets
// and their installed versions; `prony-peers version` prints its own version.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/pronybench/prony/engine/version"

	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "prony-peers:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	switch {
	case len(arguments) == 0:
		return program.Serve(ctx, os.Stdin, os.Stdout, peers.Targets()...)
	case len(arguments) == 1 && arguments[0] == "list":
		return list(ctx)
	case len(arguments) == 1 && arguments[0] == "version":
		_, err := fmt.Println("prony-peers", version.Of())
		return err
	}
	return fmt.Errorf("arguments %q: run it without arguments, as Prony does, or with \"list\" or \"version\"", arguments)
}

func list(ctx context.Context) error {
	for _, target := range peers.Targets() {
		d := target.Describe(ctx)
		state := d.Product + " " + d.Version
		if d.Missing != "" {
			state = "NOT INSTALLED: " + d.Missing
		}
		if _, err := fmt.Printf("%-18s %s\n", d.Name, state); err != nil {
			return err
		}
	}
	return nil
}

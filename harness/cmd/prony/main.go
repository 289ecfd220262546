// Command prony measures a queue server: it runs scenarios, judges what they measured, and writes pages.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/result"
)

// gcPercent keeps the collector from taking part in the measurement more than it must: the generator's heap is
// bounded by the workload. GOGC overrides it.
const gcPercent = 400

// exitInterrupted is the exit code after SIGINT or SIGTERM, as shells have it.
const exitInterrupted = 130

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	os.Exit(execute(ctx, os.Args, os.Stdout, os.Stderr))
}

// verdictError ends a command with a verdict that was already reported.
type verdictError struct{ verdict result.Verdict }

func (e verdictError) Error() string { return "verdict " + string(e.verdict) }

// execute carries a command line out and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(args)
	root.SetArgs(args[1:])
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var verdict verdictError
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		say(stderr, "prony: %v", err)
		return exitInterrupted
	case errors.As(err, &verdict):
		return verdict.verdict.ExitCode()
	}
	say(stderr, "prony: %v", err)
	return result.Misconfigured.ExitCode()
}

func newRoot(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "prony",
		Short: "Measures a queue server, and says what it measured",
		Long: `prony loads a queue server through scenarios, proves by a ledger that every task was
completed exactly once, and says what it measured, where the time went, and whether it got worse.

  prony run scenarios/smoke.hcl   measure: the result goes to runs/<id>/
  prony check                     judge the newest run by baselines/
  prony report                    write the newest run's page

Exit codes: 0 pass, 1 regressed, 2 misconfigured, 3 invalid, 4 inconclusive, 5 incorrect.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(runCommand(args), checkCommand(), reportCommand())
	root.AddCommand(validateCommand(), explainCommand(), listCommand())
	root.AddCommand(compareCommand(args), gateCommand(args))
	return root
}

// say writes a line for a person. What can't be written has nobody to read it.
func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format+"\n", args...)
}

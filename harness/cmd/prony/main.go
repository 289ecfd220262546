// Command prony measures a queue server: it runs scenarios, judges what they measured, and writes pages.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/attack"
	"github.com/pronybench/prony/harness/hosts"
	"github.com/pronybench/prony/harness/reference/bare"
)

// gcPercent keeps the collector from taking part in the measurement more than it must: the generator's heap is
// bounded by the workload. GOGC overrides it.
const gcPercent = 400

func main() {
	if hosts.IsChild(os.Args) {
		os.Exit(hosts.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	if bare.IsChild(os.Args) { // before the collector is set: the bare data path has Go's default
		os.Exit(bare.Main(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if attack.IsChild(os.Args) {
		os.Exit(attack.Main(ctx, os.Stdout, os.Stderr))
	}
	if isGenerator(os.Args) {
		os.Exit(generatorMain(ctx))
	}
	os.Exit(execute(ctx, os.Args, os.Stdout, os.Stderr))
}

func newRoot(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "prony",
		Short: "Measures a queue server, and says what it measured",
		Long: `prony loads a queue server through scenarios, proves by a ledger that every task was
completed exactly once, and says what it measured, where the time went, and whether it got worse.

  prony list                      what scenarios there are
  prony init first                write one of your own to begin with
  prony explain scenarios/*.hcl   what they do, how long they take and what they can show
  prony run scenarios/smoke.hcl   measure: the result and its page go to runs/<id>/
  prony check                     judge the newest run by baselines/
  prony guard scenarios/smoke.hcl measure and judge, as CI does
  prony soak scenarios/soak/steady.hcl  leave servers up for hours: does any figure drift
  prony report                    write the newest run's page again

Each command prints one JSON document on stdout with --json, also where it fails; everything for people is on stderr.
` + exitCodesText(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.DisableDefaultCmd = true
	args = recorded(args)
	root.AddCommand(runCommand(args), guardCommand(args), checkCommand(), baselineCommand(args), publishCommand(args), reportCommand(), historyCommand(), viewCommand(),
		convertCommand())
	root.AddCommand(validateCommand(), explainCommand(), listCommand())
	root.AddCommand(compareCommand(args), ratchetCommand(args), gateCommand(args), soakCommand(args, deploySoak), serialCommand(args), hostsCommand(), k6Command())
	root.AddCommand(profileCommand(), doctorCommand(), initCommand(), completionCommand(), versionCommand())
	return root
}

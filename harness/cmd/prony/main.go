// Command prony measures a queue server: it runs scenarios, judges the results, and writes pages.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/attack"
	"github.com/pronybench/prony/harness/hosts"
	"github.com/pronybench/prony/harness/reference/bare"
)

// gcPercent reduces the garbage collector's part in the measurement: the workload bounds the
// generator's heap. GOGC overrides it.
const gcPercent = 400

func main() {
	if hosts.IsChild(os.Args) {
		os.Exit(hosts.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	if bare.IsChild(os.Args) { // before SetGCPercent: the bare data path keeps Go's default
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
		Short: "Measures a queue server, and judges the results",
		Long: `prony loads a queue server with scenarios, proves with a ledger that every task was completed exactly once, and reports
the figures, where the time went, and whether they got worse.

  prony list                      list the scenarios
  prony init first                write a first scenario of your own
  prony explain scenarios/*.hcl   show what they do, how long they take and what they can show
  prony run scenarios/smoke.hcl   measure: the result and its page go to runs/<id>/
  prony check                     judge the newest run by baselines/
  prony guard scenarios/smoke.hcl measure and judge, as CI does
  prony soak scenarios/soak/steady.hcl  run servers for hours, and find figures that drift
  prony report                    write the newest run's page again

With --json each command prints one JSON document on stdout, even if it fails; all output for people is on stderr.
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
	root.AddCommand(compareCommand(args), ratchetCommand(args), gateCommand(args), soakCommand(args, deploySoak), serialCommand(args), k6Command())
	root.AddCommand(profileCommand(), doctorCommand(), initCommand(), completionCommand(), versionCommand())
	return root
}

// unrecorded are the flags for the destination or the display of a result.
var unrecorded = []string{"--out", "--folder", "--listen"}

// recorded returns the command line to store in a result: the arguments without the flags in
// unrecorded. A folder or an address of one machine does not affect the measurement and does not
// help to repeat it, and results are published.
func recorded(args []string) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		flag, _, hasValue := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return append(kept, args[i:]...)
		case !slices.Contains(unrecorded, flag):
			kept = append(kept, arg)
		case !hasValue:
			i++ // skip its value
		}
	}
	return kept
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

type runFlags struct {
	out    string
	rounds int
	// override is true if --rounds is given; 0 is then an error.
	override bool
	json     bool
	vars     vars
}

func runCommand(args []string) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run FILE...",
		Short: "Run the scenarios of files, one after the other",
		Long: `Runs every scenario of the given files. Each round starts with a new server. If the scenario captures profiles, profiled rounds
(one, or profiled_rounds) are spread among the timed ones. The points of a sweep alternate. If a load is a fraction of the
peak, a round before the others finds the peak. The result goes to a new folder under --out, and the symbolic link "latest"
points to it: manifest.json, result.json, rounds.json, histograms.json, bench.txt (for benchstat), profiles/, traces/, logs/,
and the run's page, report.md.

A cycle counts when the server acknowledges its completion. If the ledger does not balance, the verdict is incorrect and
no figure is published.`,
		Example: `  prony run scenarios/smoke.hcl
  prony run --rounds 3 --json scenarios/full-cycle.hcl`,
		Args:              scenarioFiles.check,
		ValidArgsFunction: completeScenarioFiles,
		RunE: func(c *cobra.Command, files []string) error {
			f.override = c.Flags().Changed("rounds")
			document, err := f.run(c.Context(), args, files, c.ErrOrStderr())
			return finish(c, f.json, document, err)
		},
	}
	c.Flags().StringVar(&f.out, "out", defaultOut, "parent folder for run folders")
	c.Flags().IntVar(&f.rounds, "rounds", 0, "timed rounds of each point, instead of the file's")
	f.vars.flag(c)
	jsonFlag(c, &f.json)
	return c
}

func (f *runFlags) run(ctx context.Context, args, files []string, stderr io.Writer) (_ *result.Document, err error) {
	scenarios, err := f.vars.loadFor("prony run", files)
	if err != nil {
		return nil, err
	}
	if f.override && (f.rounds < 1 || f.rounds > scenario.RoundsMax) {
		return nil, fmt.Errorf("--rounds %d must be between 1 and %d", f.rounds, scenario.RoundsMax)
	}
	// Before building servers, which takes minutes.
	if err := result.CheckLatest(f.out); err != nil {
		return nil, err
	}
	if err := enterForHosts(scenarios, stderr); err != nil {
		return nil, err
	}
	binaries, err := builtServers(ctx, scenarios, stderr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, binaries.close(ctx)) }()
	var outcomes []result.Outcome
	for _, s := range scenarios {
		if f.override {
			s.OverrideRounds(f.rounds)
		}
		r, folder, err := measureScenario(ctx, s, binaries, run.Options{Out: f.out, Command: args}, stderr)
		if err != nil {
			return result.NewDocument(outcomes...), err
		}
		outcome := result.NewOutcome(r, folder)
		files, err := report.Render(nil, folder, folder)
		if err != nil { // the figures are stored, so a missing page is only a warning
			say(stderr, "%s: no page: %v", s.Name, err)
			outcome.Warnings = append(outcome.Warnings, fmt.Sprintf("no page: %v", err))
		} else {
			outcome.Page = files[0]
			say(stderr, "%s: page %s", s.Name, files[0])
		}
		outcomes = append(outcomes, outcome)
	}
	return result.NewDocument(outcomes...), nil
}

// measureScenario runs a scenario on its servers. It repeats invalid rounds.
func measureScenario(ctx context.Context, s *scenario.Scenario, on *servers, o run.Options, stderr io.Writer) (*result.Result, string, error) {
	o.Server, o.ServerOf = on.first(s), on.of
	o.Progress, o.Terminal, o.Columns = stderr, isTerminal(stderr), columns(stderr)
	o.Describe, o.RepeatInvalid = gate.Describe, true
	return run.Execute(ctx, s, o)
}

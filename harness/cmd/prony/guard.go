package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/ci"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

type guardFlags struct {
	out, baselines, ci string
	within             time.Duration
	json               bool
	vars               vars
}

func guardCommand(args []string) *cobra.Command {
	var f guardFlags
	c := &cobra.Command{
		Use:   "guard FILE...",
		Short: "Run scenarios, judge each by its limits, and say what broke and why",
		Long: `Runs every scenario of the files given, judges each run as prony check does, and ends with the verdict and the
margin to each limit. It is for CI: what fails is named with the metric, its value, the limit, where the time went,
and the command that runs that scenario alone.

A scenario that ends invalid is run once more when all have run, since a busy host may have passed by then. So is one
that broke a limit while the rate of most of its rounds rose or fell within the window, as it does in a stall of the
host, and one that broke limits on rates and times only, if at most two scenarios broke limits: a shared host may be slow
for some seconds, and a slow server stays slow. The second verdict stands; a task at fault in either run counts. A scenario that broke a limit and takes no
profiles is then run once more with them. None begins if it is expected to end later than --within after the start, so
that the whole takes no longer. A first run that is still going on then is stopped, and
is invalid, as are the scenarios that were not begun.

Scenarios whose limits are for another configuration are refused before anything is measured. A folder baselines/ is not
needed where all scenarios have "limit" blocks.`,
		Example: `  prony guard scenarios/smoke.hcl
  prony guard --within 3m --ci runs/ci/smoke scenarios/smoke.hcl scenarios/smoke/*.hcl`,
		Args:              scenarioFiles.check,
		ValidArgsFunction: completeScenarioFiles,
		RunE: func(c *cobra.Command, files []string) error {
			document, err := f.guard(c.Context(), args, files, c.Flags().Changed("baselines"), c.ErrOrStderr())
			return finish(c, f.json, document, err)
		},
	}
	c.Flags().StringVar(&f.out, "out", defaultOut, "folder that run folders are made in")
	c.Flags().StringVar(&f.baselines, "baselines", defaultBaselines, "folder of the limits")
	c.Flags().DurationVar(&f.within, "within", 0, "time for all, runs that are repeated included; 0: as long as they take")
	f.vars.flag(c)
	ciFlag(c, &f.ci)
	jsonFlag(c, &f.json)
	return c
}

// withoutLimits reports whether a scenario is judged by a baseline or not at all.
func withoutLimits(s *scenario.Scenario) bool { return len(s.Limits) == 0 }

// guard runs and judges the scenarios of files. named says that the folder of baselines was named, and must exist.
func (f *guardFlags) guard(ctx context.Context, args, files []string, named bool, stderr io.Writer) (_ *result.Document, err error) {
	if f.within < 0 {
		return nil, fmt.Errorf("--within %v is below 0: use the time that all runs may take, or 0", f.within)
	}
	scenarios, err := f.vars.loadFor("prony guard", files)
	if err != nil {
		return nil, err
	}
	limits, err := loadBaselines(f.baselines)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || named || slices.ContainsFunc(scenarios, withoutLimits)) {
		return nil, err
	}
	if misfits := limits.Misfits(scenarios); len(misfits) > 0 {
		return nil, errors.New(strings.Join(misfits, "\n"))
	}
	if err := enterForHosts(scenarios, stderr); err != nil {
		return nil, err
	}
	binaries, err := builtServers(ctx, scenarios, stderr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, binaries.close(ctx)) }()
	g := &guard{
		limits: limits, within: f.within, now: time.Now, stderr: stderr,
		execute: func(ctx context.Context, s *scenario.Scenario, place *run.Place) (*result.Result, string, error) {
			return run.Execute(ctx, s, run.Options{
				Out: f.out, Server: binaries.first(s), ServerOf: binaries.of, Command: args, Progress: stderr, Terminal: isTerminal(stderr), Columns: columns(stderr),
				Place: place, Describe: gate.Describe,
			})
		},
		alone: func(s *scenario.Scenario) string { return f.alone(args[0], s) },
	}
	if err := g.all(ctx, scenarios); err != nil {
		return g.document(), err
	}
	took := g.took().Round(time.Second)
	say(stderr, "\n%s", strings.TrimSuffix(report.GuardText(g.guarded, took), "\n"))
	document := g.document()
	if f.ci != "" {
		return document, ci.Write(f.ci, g.judgements())
	}
	return document, nil
}

// alone returns the command that guards one of the scenarios with the same values.
func (f *guardFlags) alone(program string, s *scenario.Scenario) string {
	words := []string{program, "guard"}
	for _, v := range f.vars.given {
		words = append(words, "--var", v)
	}
	return strings.Join(append(words, s.File), " ")
}

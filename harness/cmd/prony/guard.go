package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/baselinebuild"
	"github.com/pronybench/prony/harness/ci"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report/terminal"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

type guardFlags struct {
	out, baselines, ci, baseline string
	within                       time.Duration
	json                         bool
	vars                         vars
}

// Values of --baseline.
const (
	baselineAuto     = "auto"
	baselineRequired = "required"
	baselineNone     = "none"
)

func guardCommand(args []string) *cobra.Command {
	var f guardFlags
	c := &cobra.Command{
		Use:   "guard FILE...",
		Short: "Measure scenarios on this build and the baseline build, and report regressions",
		Long: `Measures and judges every scenario of the given files, and ends with the verdict. It is for CI: it names each failure
with the metric, its value, the limit, where the time went, and the command that measures that scenario alone.

A limit with of_baseline is a ratio to the baseline build, the commit in build.hcl of the baselines folder. The command builds
that server from the repository and measures it at the same time. If the scenario allows it, this is a short duet of both
builds, as in prony compare, with two generations of fresh processes, and more only while a ratio is undecided. Scenarios with
faults, a backlog or several workloads run rounds of both builds in turn. Counters come from fixed work, measured once for
each topology, and must not rise.

The server of the baseline build is stored in the user's cache folder, by commit and Go version. If there is no repository, or
it lacks the commit and cannot fetch it, absolute limits alone judge the speed, and the first line of the verdict says so.
--baseline required makes this an error, --baseline none requests it.

The command starts no generation that is expected to end later than --within after the start. It stops what then still runs;
that scenario and those that were not started are invalid.

It rejects scenarios whose limits are for another configuration before it measures anything. The folder baselines/ may be
missing if all scenarios have "limit" blocks.`,
		Example: `  prony guard scenarios/smoke.hcl
  prony guard --within 3m --baseline required --ci runs/ci/smoke scenarios/smoke.hcl scenarios/smoke/*.hcl`,
		Args:              scenarioFiles.check,
		ValidArgsFunction: completeScenarioFiles,
		RunE: func(c *cobra.Command, files []string) error {
			document, err := f.guard(c.Context(), args, files, c.Flags().Changed("baselines"), c.ErrOrStderr())
			return finish(c, f.json, document, err)
		},
	}
	c.Flags().StringVar(&f.out, "out", defaultOut, "parent folder for run folders")
	c.Flags().StringVar(&f.baselines, "baselines", defaultBaselines, "folder of the baselines and of build.hcl")
	c.Flags().StringVar(&f.baseline, "baseline", baselineAuto, "measure the baseline build together with this one: auto (if available), required or none")
	c.Flags().DurationVar(&f.within, "within", 0, "time for all scenarios; 0: no limit")
	f.vars.flag(c)
	ciFlag(c, &f.ci)
	jsonFlag(c, &f.json)
	return c
}

func withoutLimits(s *scenario.Scenario) bool { return len(s.Limits) == 0 }

func (f *guardFlags) check() error {
	if f.within < 0 {
		return fmt.Errorf("--within %v is below 0: use the time that all scenarios may take, or 0", f.within)
	}
	if !slices.Contains([]string{baselineAuto, baselineRequired, baselineNone}, f.baseline) {
		return fmt.Errorf("--baseline is %q: use %s, %s or %s", f.baseline, baselineAuto, baselineRequired, baselineNone)
	}
	return nil
}

// guard measures and judges the scenarios of the files. named is true if the user gave --baselines.
func (f *guardFlags) guard(ctx context.Context, args, files []string, named bool, stderr io.Writer) (_ *result.Document, err error) {
	if err := f.check(); err != nil {
		return nil, err
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
		limits: limits, within: f.within, now: time.Now, stderr: stderr, foreign: watchForeign,
		alone: func(s *scenario.Scenario) string { return f.alone(args[0], s) },
	}
	base, why, err := f.baselineServer(ctx, limits, scenarios, stderr)
	if err != nil {
		return nil, err
	}
	g.judgedBy = judgedBy(base, why)
	m := &guardMeasurer{
		options: run.Options{
			Out: f.out, Command: args, Progress: stderr, Terminal: isTerminal(stderr), Columns: columns(stderr), Describe: gate.Describe, JudgedLater: true,
		},
		servers: binaries, base: base, guard: g, worked: map[string]bool{},
	}
	g.measure = m.measure
	if err := g.all(ctx, scenarios); err != nil {
		return g.document(), err
	}
	took := g.took().Round(time.Second)
	say(stderr, "\n%s", strings.TrimSuffix(terminal.Guard(g.judgedBy, g.guarded, took), "\n"))
	document := g.document()
	if f.ci != "" {
		return document, ci.Write(f.ci, g.judgements())
	}
	return document, nil
}

// baselineServer returns the server of the baseline build if a scenario has limits relative to it.
// If it returns nil, why says the reason.
func (f *guardFlags) baselineServer(ctx context.Context, limits *gate.Baselines, scenarios []*scenario.Scenario, stderr io.Writer) (_ *baselineServer, why string, err error) {
	if f.baseline == baselineNone {
		return nil, "--baseline none was given", nil
	}
	needs := func(s *scenario.Scenario) bool { return limits.NeedsBaseline(s) }
	if f.baseline == baselineAuto && !slices.ContainsFunc(scenarios, needs) {
		return nil, "no limit is relative to a baseline build", nil
	}
	path := filepath.Join(f.baselines, baselinebuild.FileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && f.baseline == baselineAuto {
		return nil, path + " does not exist", nil
	}
	builds, err := baselinebuild.Read(path)
	if err != nil {
		return nil, "", err
	}
	base, err := findBaselineServer(ctx, builds.Current(), stderr)
	if err != nil && ctx.Err() == nil && f.baseline == baselineAuto {
		return nil, err.Error(), nil
	}
	return base, "", err
}

// judgedBy returns the first line of the verdict: what judged the speed.
func judgedBy(base *baselineServer, why string) string {
	if base == nil {
		return "Speed was judged by order-of-magnitude limits only, because " + why + ". Ratios to the baseline build were not measured."
	}
	return fmt.Sprintf("Speed was judged against baseline build %.7s of %s; xN is the ratio to it:", base.build.Commit, base.build.Date)
}

// alone returns the command that measures one scenario.
func (f *guardFlags) alone(program string, s *scenario.Scenario) string {
	words := []string{program, "guard"}
	for _, v := range f.vars.given {
		words = append(words, "--var", v)
	}
	if f.baseline != baselineAuto {
		words = append(words, "--baseline", f.baseline)
	}
	return strings.Join(append(words, s.File), " ")
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/duet"
	"github.com/pronybench/prony/harness/experiment"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

var (
	// ratchetScenario and experimentsFile are the default files, relative to the root of the
	// repository.
	ratchetScenario = filepath.Join("scenarios", "ratchet.hcl")
	experimentsFile = filepath.Join("reports", "experiments.hcl")
)

// ratchetFor is the default measurement time: about 26 generations of the default scenario.
const ratchetFor = 5 * time.Minute

type ratchetFlags struct {
	base, change, scenario, out, experiments string
	name, hypothesis, cost, file, note       string
	tags, pgo                                string
	buildEnv, env, baseEnv, tests            []string
	length, testsWithin                      time.Duration
	json, dryRun, differentSettings          bool
	vars                                     vars
}

func ratchetCommand(args []string) *cobra.Command {
	var f ratchetFlags
	c := &cobra.Command{
		Use:   "ratchet --base REV --hypothesis TEXT --cost TEXT",
		Short: "Score a change against its base, and record it as kept or rejected",
		Long: `Builds the server and the load generator of --base and of --change (or of the working tree) and measures both as a duet. Each
generation of fresh processes covers each point of the scenario's sweep. After the time of --for it decides once: the change is kept if its
score is certainly better, and rejected if it is worse or a tie.

The scenario's score block defines the score: the geometric mean of the ratios of change to base over all metrics and points, by default
of the 95th percentiles of enqueue and of cycle with 1 to 64 workers. Its 95 % interval is that of Student's t over generations. Below 1
the change is better. All other figures that certainly get worse are shown and recorded, independent of the score.

The change is disqualified before any measurement if a test suite of --tests fails on its tree, and also if its ledger does not balance.
The decision is appended to the experiments, with the hypothesis, the commits, the location of the change, the figures and the cost.
Without a decision nothing is recorded.

An option of the build or of its environment can also be an experiment: --base and --change may then be the same commit.

Exit codes: 0 kept, 1 rejected (worse, a tie, or a failed test suite), 2 misconfigured, 3 invalid (not enough was measured to decide),
5 incorrect (rejected, if the change's ledger does not balance).`,
		Example: `  prony ratchet --base main --hypothesis "one lock less for each claim" --cost "a second map of leases" --tests "cd engine && go test ./queue/..."
  prony ratchet --base HEAD --change HEAD --build-env GOAMD64=v3 --hypothesis "newer instructions pay" --cost "no processors from before 2013"
  prony ratchet page`,
		Args: noArguments.check,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c, args) },
	}
	c.Flags().StringVar(&f.base, "base", "", "revision to score against")
	c.Flags().StringVar(&f.change, "change", "", "revision of the change, instead of the working tree")
	c.Flags().StringVar(&f.hypothesis, "hypothesis", "", "expected effect of the change, and the reason")
	c.Flags().StringVar(&f.cost, "cost", "", `what the change gives up: memory, simplicity, portability; "none" if nothing`)
	c.Flags().StringVar(&f.name, "name", "", "name of the experiment, instead of one from the hypothesis")
	c.Flags().StringVar(&f.file, "file", "", "PATH:LINE of the change, instead of the first line that differs")
	c.Flags().StringVar(&f.note, "note", "", "additional text to record")
	c.Flags().StringArrayVar(&f.tests, "tests", nil, "command of a test suite that must pass in the root of the change's tree; may be repeated")
	c.Flags().DurationVar(&f.testsWithin, "tests-within", 10*time.Minute, "time limit of each test suite")
	c.Flags().DurationVar(&f.length, "for", ratchetFor, "measurement time, with fixed work and all generations")
	c.Flags().StringVar(&f.scenario, "scenario", "", "file of the scenario to measure, instead of "+ratchetScenario)
	c.Flags().StringVar(&f.tags, "tags", "", "build tags of both sides")
	c.Flags().StringArrayVar(&f.buildEnv, "build-env", nil, "NAME=VALUE in the environment of the change's build, such as GOAMD64=v3; may be repeated")
	c.Flags().StringVar(&f.pgo, "pgo", "", "CPU profile for profile-guided optimisation of the change's server")
	c.Flags().StringArrayVar(&f.env, "env", nil, "NAME=VALUE in the environment of the change's processes; may be repeated")
	c.Flags().StringArrayVar(&f.baseEnv, "base-env", nil, "NAME=VALUE in the environment of the base's processes; may be repeated")
	c.Flags().StringVar(&f.experiments, "experiments", "", "file of the experiments, instead of "+experimentsFile)
	c.Flags().StringVar(&f.out, "out", defaultOut, "parent folder for the measurement's folder")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "check, run the test suites and build, but measure and record nothing")
	c.Flags().BoolVar(&f.differentSettings, "allow-different-settings", false, "measure even if the servers of the sides run with different settings")
	f.vars.flag(c)
	jsonFlag(c, &f.json)
	completeFlag(c, "scenario", completeScenarioFiles)
	c.AddCommand(ratchetPageCommand())
	return c
}

// ratchetTask is a running ratchet.
type ratchetTask struct {
	f        *ratchetFlags
	b        *builder
	scenario *scenario.Scenario
	score    scenario.Score
	sources  [2]source
	record   experiment.Experiment // the part that is known before the measurement
	file     string                // file of the experiments
}

func (f *ratchetFlags) run(c *cobra.Command, args []string) (err error) {
	ctx := c.Context()
	if err := f.check(); err != nil {
		return misused(c, "", "%v", err)
	}
	b, err := newBuilder(ctx, f.tags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close(ctx)) }()
	t := &ratchetTask{f: f, b: b}
	if err := t.prepare(c, args); err != nil {
		return err
	}
	t.plan(c)
	decided, folder, err := t.decide(c, args)
	if err != nil || decided == nil {
		return err
	}
	return t.finish(c, decided, folder)
}

// check returns all errors of the flags.
func (f *ratchetFlags) check() error {
	var errs []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	need(f.base != "", "--base is missing: name the revision to score against")
	need(strings.TrimSpace(f.hypothesis) != "", "--hypothesis is missing: write the expected effect of the change, and the reason")
	need(strings.TrimSpace(f.cost) != "", `--cost is missing: write what the change gives up, or "none"`)
	need(f.length > 0, "--for %v must be above 0", f.length)
	need(f.testsWithin > 0, "--tests-within %v must be above 0", f.testsWithin)
	for _, env := range []struct {
		flag   string
		values []string
	}{{"--build-env", f.buildEnv}, {"--env", f.env}, {"--base-env", f.baseEnv}} {
		for _, v := range env.values {
			name, _, is := strings.Cut(v, "=")
			need(is && name != "", "%s %q must be NAME=VALUE", env.flag, v)
		}
	}
	if f.pgo != "" {
		if _, err := os.Stat(f.pgo); err != nil {
			errs = append(errs, fmt.Errorf("--pgo: %w", err))
		}
	}
	if f.change == "." {
		f.change = ""
	}
	return errors.Join(errs...)
}

// prepare finds and checks everything that the measurement needs before it starts.
func (t *ratchetTask) prepare(c *cobra.Command, args []string) (err error) {
	f, ctx := t.f, c.Context()
	if t.file, err = f.below(t.b.root, f.experiments, experimentsFile); err != nil {
		return err
	}
	file, err := f.below(t.b.root, f.scenario, ratchetScenario)
	if err != nil {
		return err
	}
	scenarios, err := f.vars.loadFor("prony ratchet", []string{file})
	if err != nil {
		return err
	}
	if len(scenarios) != 1 {
		return fmt.Errorf("%s has %d scenarios, and a ratchet measures one", file, len(scenarios))
	}
	t.scenario = scenarios[0]
	if err := duet.FitsSweep(t.scenario); err != nil {
		return fmt.Errorf("scenario %q cannot be measured as a duet over a sweep: %w", t.scenario.Name, err)
	}
	if t.score = scenario.DefaultScore(); t.scenario.Score != nil {
		t.score = *t.scenario.Score
	}
	for i, rev := range []string{f.base, f.change} {
		if t.sources[i], err = t.b.checkout(ctx, []string{run.Base, run.Change}[i], rev); err != nil {
			return err
		}
	}
	change := &t.sources[1]
	change.env = f.buildEnv
	if f.pgo != "" {
		if change.profile, err = filepath.Abs(f.pgo); err != nil {
			return fmt.Errorf("--pgo: %w", err)
		}
	}
	if t.record, err = t.before(ctx, args); err != nil {
		return err
	}
	return experiment.CheckNew(t.file, t.record.Name)
}

// below returns the given path, or that of a file below root if none is given.
func (f *ratchetFlags) below(root, given, file string) (string, error) {
	if given != "" {
		return given, nil
	}
	return relativeTo(root, file)
}

func (t *ratchetTask) plan(c *cobra.Command) {
	say(c.ErrOrStderr(), "%s: experiment %s: score %s, over %s, for %v", t.scenario.Name, t.record.Name, scoreInWords(t.score),
		render.Plural(len(t.scenario.Points), "point"), t.f.length)
}

// decide runs the test suites, builds both sides, measures them and decides. It returns nil after a
// dry run.
func (t *ratchetTask) decide(c *cobra.Command, args []string) (*result.Ratchet, string, error) {
	f, ctx, stderr := t.f, c.Context(), c.ErrOrStderr()
	started := time.Now()
	for _, suite := range f.tests {
		say(stderr, "%s: testing the change: %s", t.scenario.Name, suite)
		var failed string
		err := during(stderr, "testing", func(*activity) (err error) {
			failed, err = runSuite(ctx, t.sources[1].dir, suite, f.testsWithin)
			return err
		})
		if err != nil {
			return nil, "", err
		}
		if failed != "" {
			r := &result.Ratchet{Version: result.Version, Scenario: t.scenario.Name, Started: started, Finished: time.Now(), Durability: t.scenario.Topology.Durability}
			for i, side := range []*result.Side{&r.Base, &r.Change} {
				of := t.sources[i]
				*side = result.Side{Name: of.name, Commit: of.build.Commit, Dirty: of.build.Dirty}
			}
			r.Reasons = []string{failed}
			return gate.Disqualify(r, result.Regressed, failed), "", nil
		}
	}
	say(stderr, "%s: building %d layouts of the server, and the load generator, of both sides", t.scenario.Name, layouts)
	var sides [2]duet.Side
	var warnings []string
	err := t.b.building(stderr, func() (err error) {
		sides, warnings, err = t.build(ctx)
		return err
	})
	if err != nil || f.dryRun {
		return nil, "", err
	}
	o := duet.Options{
		Out: f.out, Command: args, Within: f.length, Looks: 1, Seed: uint64(started.UnixNano()), Warnings: warnings,
	}
	if !f.differentSettings {
		o.Admit = checkServers
	}
	measured, folder, err := measureDuet(stderr, func(progress io.Writer) (*result.Duet, string, error) {
		o.Progress = progress
		return duet.Measure(ctx, t.scenario, sides, o)
	})
	if err != nil {
		return nil, folder, err
	}
	policy := gate.DefaultDuetPolicy()
	decided := gate.JudgeRatchet(measured, t.score, policy)
	t.record.Measurement.Host = hostInWords(measured.Manifest.Host)
	t.record.Measurement.Go = measured.Manifest.Build.GoVersion
	return decided, folder, result.WriteRatchet(folder, decided)
}

func (t *ratchetTask) build(ctx context.Context) (sides [2]duet.Side, warnings []string, err error) {
	for i, of := range t.sources {
		if sides[i], err = t.b.side(ctx, of); err != nil {
			return sides, nil, err
		}
	}
	for i, env := range [][]string{t.f.baseEnv, t.f.env} {
		sides[i].Env, sides[i].GeneratorEnv = env, env
	}
	warning, err := t.b.generators(ctx, t.sources, &sides)
	if warning != "" {
		warnings = append(warnings, warning)
	}
	return sides, warnings, err
}

// finish records and prints a decision, and returns the command's error.
func (t *ratchetTask) finish(c *cobra.Command, decided *result.Ratchet, folder string) error {
	stderr := c.ErrOrStderr()
	sayRatchet(stderr, t.record.Name, decided)
	if folder != "" {
		say(stderr, "  measured in %s", folder)
	}
	if decided.Decided {
		if err := experiment.Append(t.file, recordOf(t.record, decided)); err != nil {
			return fmt.Errorf("the decision is not recorded: %w", err)
		}
		say(stderr, "  recorded in %s", t.file)
	}
	if t.f.json {
		if err := decided.WriteJSON(c.OutOrStdout()); err != nil {
			return err
		}
	}
	if decided.Verdict != result.Pass {
		return verdictError{decided.Verdict}
	}
	return nil
}

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/ci"
	"github.com/pronybench/prony/harness/duet"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

// compareScenario is the default scenario file, relative to the root of the repository.
var compareScenario = filepath.Join("scenarios", "compare.hcl")

type compareFlags struct {
	base, change, scenario, out, tags, effect, ci string
	rounds, point                                 int
	workCycles                                    uint64
	length                                        time.Duration
	json, differentSettings                       bool
	vars                                          vars
}

func compareCommand(args []string) *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare (A B | COMPARISON | --base REV)",
		Short: "Judge a change against its base",
		Long: `With --base it builds the server of that revision and of the working tree (or of --change), and a load generator with
the client of each. Both sides run at the same time, and the load alternates between them in slices of 10 ms, in several
generations of fresh processes. A generation takes about five seconds. The first verdict comes after the time of --for:
regressed if a loss is certain, pass if a relevant loss is excluded. If neither holds, it continues, up to three times
as long in total. After a loss, six profiled generations (one minute together, at most two) look for its causes.
The result goes to a folder under --out: comparison.json, and duet.json with all measurements.

Both sides also do the same fixed work, in which the counters of the servers must be equal. A commit that changes a
counter on purpose declares it with a trailer in its message: "Expected-Counter: storage_sets: REASON".

A scenario that does not fit this method (faults, a sweep, an attack, several workloads or open load) is measured in
interleaved rounds, as with --rounds: each block has one round of each side, and a second one of the base as the control.
A difference counts only if it is larger than the difference between the two measurements of the base.

With two stored runs A and B it judges B against A, or with --point one point of their sweeps. Their rounds were not
interleaved and there is no control, and the output says so. If the runs are from different hosts, it lists the differences
between the hosts. If the runs measured the bare data path, it also shows the figures as shares of that path,
which can be compared between hosts. With the folder of a comparison it judges that comparison again.

It refuses sides with different settings, and servers that report different settings. A default of the server that
differs between the builds of --base and --change is part of the change: it is shown and not refused. A setting that only
one side's build knows is a warning.`,
		Example: `  prony compare --base main
  prony compare --base HEAD~3 --change HEAD --scenario scenarios/compare.hcl --for 90s
  prony compare runs/20261121T171500.123Z-smoke runs/20261122T090000.456Z-smoke`,
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, runs []string) error {
			compared, folder, err := f.compare(c, args, runs)
			return f.finish(c, compared, folder, err)
		},
	}
	c.Flags().StringVar(&f.base, "base", "", "revision to compare with")
	c.Flags().StringVar(&f.change, "change", "", "revision of the change, instead of the working tree")
	c.Flags().StringVar(&f.scenario, "scenario", "", "file of the scenario to measure, instead of "+compareScenario)
	c.Flags().IntVar(&f.rounds, "rounds", 0, "measure interleaved rounds: the number of blocks, each with one round of each side")
	c.Flags().IntVar(&f.point, "point", 0, "number of the point to compare in two stored runs with a sweep")
	c.Flags().DurationVar(&f.length, "for", 0, "time before the first verdict of a duet; up to three times this if inconclusive (default 1m30s); time limit of interleaved rounds")
	c.Flags().StringVar(&f.out, "out", defaultOut, "parent folder for the comparison folder")
	c.Flags().StringVar(&f.tags, "tags", "", "build tags of both sides")
	c.Flags().StringVar(&f.effect, "effect", "", "smallest relevant change of the rate and of CPU time, such as 5%")
	c.Flags().Uint64Var(&f.workCycles, "work-cycles", 0, "cycles of a duet's fixed work (default 60,000, or 15,000 for a cluster)")
	c.Flags().BoolVar(&f.differentSettings, "allow-different-settings", false, "compare even if the settings of the sides or of their servers differ")
	ciFlag(c, &f.ci)
	f.vars.flag(c)
	jsonFlag(c, &f.json)
	completeFlag(c, "scenario", completeScenarioFiles)
	return c
}

// show prints the comparison. It writes the page of a new measurement, and does not touch the page
// of a stored comparison.
func (f *compareFlags) show(c *cobra.Command, compared *result.Comparison, folder string) {
	stderr := c.ErrOrStderr()
	say(stderr, "%s", strings.TrimSuffix(report.ComparisonText(compared), "\n"))
	if folder == "" {
		return
	}
	say(stderr, "  comparison folder %s", folder)
	if f.base == "" {
		return
	}
	if files, err := report.Render(nil, folder, folder); err != nil {
		say(stderr, "  no page: %v", err)
	} else {
		say(stderr, "  page %s", files[0])
	}
}

// finish prints the comparison and returns the command's error, which carries the verdict.
func (f *compareFlags) finish(c *cobra.Command, compared *result.Comparison, folder string, err error) error {
	if err != nil {
		return err
	}
	f.show(c, compared, folder)
	if f.ci != "" {
		if err := ci.Write(f.ci, []ci.Judgement{ci.OfComparison(compared)}); err != nil {
			return err
		}
	}
	if f.json {
		if err := compared.WriteJSON(c.OutOrStdout()); err != nil {
			return err
		}
	}
	if compared.Verdict != result.Pass {
		return verdictError{compared.Verdict}
	}
	return nil
}

func (f *compareFlags) compare(c *cobra.Command, args, runs []string) (*result.Comparison, string, error) {
	policy := gate.DefaultPolicy()
	if f.effect != "" {
		effect, err := parseShare(f.effect)
		if err != nil {
			return nil, "", fmt.Errorf("--effect %w", err)
		}
		policy = policy.WithEffect(effect)
	}
	switch {
	case f.point != 0 && len(runs) != 2:
		return nil, "", errors.New("--point selects a point of two stored runs: give two run folders")
	case f.base != "" && len(runs) == 0:
		return f.measure(c, args, policy)
	case f.base != "" || f.change != "" && len(runs) > 0:
		return nil, "", errors.New("--base and --change start a measurement and cannot be combined with stored runs: give one or the other")
	case len(runs) == 2:
		return f.stored(runs, policy)
	case len(runs) == 1:
		return f.again(runs[0], policy)
	}
	return nil, "", misused(c, twoRuns.look, "compare takes two run folders, the folder of a comparison, or --base with a revision, and %s", givenCount(len(runs)))
}

// parseShare reads a share such as "5%" or 0.05.
func parseShare(text string) (float64, error) {
	digits, isPercent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if isPercent {
		v /= 100
	}
	if err != nil || v <= 0 || v >= 1 {
		return 0, fmt.Errorf("%q is not between 0%% and 100%%: write it as 5%% or 0.05", text)
	}
	return v, nil
}

// stored judges the second run against the first.
func (f *compareFlags) stored(runs []string, policy gate.Policy) (*result.Comparison, string, error) {
	var arms [2]result.Arm
	for i, name := range []string{run.Base, run.Change} {
		var err error
		if arms[i], err = result.ReadArm(name, filepath.Clean(runs[i])); err == nil && f.point != 0 {
			arms[i], err = arms[i].At(f.point)
		}
		if err != nil {
			return nil, "", err
		}
	}
	if err := checkSettings(arms[0].Result, arms[1].Result); err != nil && !f.differentSettings {
		return nil, "", err
	}
	return gate.Compare(arms[0], arms[1], nil, false, policy), "", nil
}

// again judges a stored comparison by the current policy. It does not change the stored comparison.
func (f *compareFlags) again(dir string, policy gate.Policy) (*result.Comparison, string, error) {
	stored, err := result.ReadComparison(dir)
	if err != nil {
		return nil, "", err
	}
	if stored.Duet != nil {
		return f.duetAgain(dir, stored.Duet.Look)
	}
	names := []string{run.Base, run.Change}
	if stored.Control != nil {
		names = append(names, run.Control)
	}
	var arms []result.Arm
	for _, name := range names {
		arm, err := result.ReadArm(name, filepath.Join(dir, name))
		if err != nil {
			return nil, "", err
		}
		arms = append(arms, arm)
	}
	c := gate.Judge(policy)(arms)
	c.Dropped, c.Tried, c.Started, c.Finished = stored.Dropped, stored.Tried, stored.Started, stored.Finished
	run.JudgeDropped(c, arms[0].Result.Manifest.Scenario.Rounds)
	return c, dir, nil
}

// measure builds both sides, measures them and judges the change. It measures a duet if the
// scenario allows one and --rounds is not given, and interleaved rounds otherwise.
func (f *compareFlags) measure(c *cobra.Command, args []string, policy gate.Policy) (_ *result.Comparison, _ string, err error) {
	ctx, stderr := c.Context(), c.ErrOrStderr()
	b, err := newBuilder(ctx, f.tags)
	if err != nil {
		return nil, "", fmt.Errorf("%w\n  two stored runs are compared without git: prony compare A B", err)
	}
	defer func() { err = errors.Join(err, b.close(ctx)) }()
	s, err := f.load(c, b.root)
	if err != nil {
		return nil, "", err
	}
	if len(s.Captures) == 0 {
		say(stderr, "%s: it captures no profiles, so a difference will have no causes", s.Name)
	}
	var sources [2]source
	for i, rev := range []string{f.base, f.change} {
		if sources[i], err = b.checkout(ctx, []string{run.Base, run.Change}[i], rev); err != nil {
			return nil, "", err
		}
	}
	unfit := duet.Fits(s)
	if c.Flags().Changed("rounds") {
		unfit = errors.New("--rounds asks for them")
	}
	if err := f.checkWork(c.Flags().Changed("work-cycles"), unfit); err != nil {
		return nil, "", err
	}
	if unfit != nil {
		say(stderr, "%s: measuring interleaved rounds and no duet: %v", s.Name, unfit)
		return f.interleave(c, args, policy, b, s, sources, unfit)
	}
	return f.duet(c, args, b, s, sources)
}

// The bounds of --work-cycles. With fewer cycles the allocations vary too much; more cycles take
// hours on a slow disk.
const (
	workCyclesLeast = 1_000
	workCyclesMost  = 10_000_000
)

// checkWork returns an error if --work-cycles is given and out of bounds, or if no duet is
// measured.
func (f *compareFlags) checkWork(given bool, unfit error) error {
	switch {
	case !given:
		return nil
	case f.workCycles < workCyclesLeast || f.workCycles > workCyclesMost:
		return fmt.Errorf("--work-cycles %d must be between %d and %d", f.workCycles, workCyclesLeast, workCyclesMost)
	case unfit != nil:
		return fmt.Errorf("--work-cycles needs a duet, because interleaved rounds have no fixed work: leave it out (%w)", unfit)
	}
	return nil
}

// interleave measures rounds of both sides in turn, and a second round of the base in each block as
// the control.
func (f *compareFlags) interleave(c *cobra.Command, args []string, policy gate.Policy, b *builder, s *scenario.Scenario, sources [2]source, unfit error) (*result.Comparison, string, error) {
	ctx, stderr := c.Context(), c.ErrOrStderr()
	say(stderr, "%s: building the server of %s and of %s", s.Name, f.base, f.changeName())
	var arms []run.Arm
	err := b.building(stderr, func() error {
		for _, of := range sources {
			path, err := b.server(ctx, of, 0)
			if err != nil {
				return err
			}
			arms = append(arms, run.Arm{Name: of.name, Server: path, Build: &of.build})
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	control := arms[0]
	control.Name = run.Control
	o := run.ArmsOptions{
		Options: run.Options{Out: f.out, Command: args, Progress: stderr, Terminal: isTerminal(stderr), Columns: columns(stderr)},
		For:     f.length,
	}
	if !f.differentSettings {
		o.Admit = func(servers [][]result.ServerSettings) error { return checkServers(servers[0], servers[1]) }
	}
	return run.Compare(ctx, s, append(arms, control), o, func(arms []result.Arm) *result.Comparison {
		compared := gate.Judge(policy)(arms)
		compared.Warnings = append(compared.Warnings, fmt.Sprintf("interleaved rounds were measured and no duet: %v", unfit))
		return compared
	})
}

func (f *compareFlags) changeName() string {
	if f.change == "" {
		return "the working tree"
	}
	return f.change
}

// relativeTo returns the path of a file below root, relative to the working directory, so that
// results name it as a person would.
func relativeTo(root, file string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", file, err)
	}
	path, err := filepath.Rel(dir, filepath.Join(root, file))
	if err != nil {
		return "", fmt.Errorf("find %s: %w", file, err)
	}
	return path, nil
}

// load reads the scenario to measure.
func (f *compareFlags) load(c *cobra.Command, root string) (*scenario.Scenario, error) {
	file := f.scenario
	if file == "" {
		var err error
		if file, err = relativeTo(root, compareScenario); err != nil {
			return nil, err
		}
	}
	scenarios, err := f.vars.loadFor("prony compare", []string{file})
	if err != nil {
		return nil, err
	}
	if len(scenarios) != 1 {
		return nil, fmt.Errorf("%s has %d scenarios, and a comparison measures one", file, len(scenarios))
	}
	s := scenarios[0]
	if err := refuseHosts(s); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, p := range s.Plan() {
		if kind := p.Topology.Kind; kind == scenario.Embedded || kind == scenario.NoTopology || kind == scenario.ByProgram {
			return nil, fmt.Errorf("%s: scenario %q has no server process of Prony's (topology %q), so there are no two builds to compare", file, s.Name, kind)
		}
	}
	if c.Flags().Changed("rounds") {
		if f.rounds < 2 || f.rounds > scenario.RoundsMax {
			return nil, fmt.Errorf("--rounds %d must be between 2 and %d", f.rounds, scenario.RoundsMax)
		}
		s.OverrideRounds(f.rounds)
	}
	if f.length < 0 {
		return nil, fmt.Errorf("--for %v must not be negative", f.length)
	}
	return s, nil
}

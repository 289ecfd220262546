package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/baselinebuild"
	"github.com/pronybench/prony/harness/duet"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/historypage"
	"github.com/pronybench/prony/harness/result"
)

type moveFlags struct {
	because, acceptCreep, baselines, out string
	scenarios                            []string
	json                                 bool
}

// movePlan lists the builds and the scenarios that a move compares.
type movePlan struct {
	base, change string   // commit hashes
	files        []string // scenario files; "" means the default of `prony compare`
	out          string   // parent folder of the comparison folders
}

// comparing compares a change with its base on each scenario of a plan, in order, and prints each
// comparison.
type comparing func(c *cobra.Command, args []string, plan movePlan) ([]*result.Comparison, error)

func baselineMoveCommand(args []string, compare comparing) *cobra.Command {
	var f moveFlags
	c := &cobra.Command{
		Use:   "move COMMIT",
		Short: "Change the baseline build, and record the cost of the move",
		Long: `Speed limits are ratios to the baseline build, the commit in the last block of baselines/build.hcl. Move it when ratios
to the old build no longer tell much: after an improvement, so that the next loss is measured from the new level, or after
a loss that was accepted for a reason.

COMMIT must be HEAD or one of its ancestors. The command builds the old baseline build and COMMIT and compares them as
"prony compare" does, at the same time and with up to three looks. It then appends a block to the file: the commit, the
date, the reason, and the ratio of every compared figure and of every fixed-work counter that differs.

A limit of 0.90 lets each of many changes cost a little. The recorded ratios show the sum: the product of a figure's
ratios over all moves must stay at or above 0.95 of its best value. "prony history" shows the products.

The command refuses the move and does not change the file if
  - the comparison is invalid, inconclusive or incorrect: measure again on a quiet host, or repair the build;
  - the comparison is regressed, and --because does not name each metric that lost;
  - a product falls below 0.95 of its best, and --accept-creep does not say why.

Exit codes: 0 moved, 1 refused for a loss, 2 misconfigured, 3 invalid, 4 inconclusive, 5 incorrect.`,
		Example: `  prony baseline move HEAD --because "group commit made enqueues 8 % faster"
  prony baseline move v0.2 --because "server_cpu_us_per_cycle rose by 6 %: each record has a checksum now" --accept-creep "checksums find torn writes"
  prony baseline move HEAD --because "release 0.3" --scenario scenarios/compare.hcl --scenario scenarios/full-cycle.hcl`,
		Args:              arguments{what: "commit", least: 1, most: 1, look: "`git log --oneline` shows the ancestors of HEAD"}.check,
		ValidArgsFunction: completeCommits,
		RunE:              func(c *cobra.Command, given []string) error { return f.run(c, args, given[0], compare) },
	}
	c.Flags().StringVar(&f.because, "because", "", "why the baseline build moves, in one line; must name each metric that got worse")
	c.Flags().StringVar(&f.acceptCreep, "accept-creep", "", "why a product below 0.95 of its best is accepted, in one line")
	c.Flags().StringArrayVar(&f.scenarios, "scenario", nil, "file of a scenario to compare on, instead of "+compareScenario+"; may be repeated")
	c.Flags().StringVar(&f.baselines, "baselines", defaultBaselines, "folder of "+baselinebuild.FileName)
	c.Flags().StringVar(&f.out, "out", defaultOut, "parent folder for the comparison folders")
	jsonFlag(c, &f.json)
	completeFlag(c, "scenario", completeScenarioFiles)
	return c
}

// moved is what `prony baseline move --json` prints.
type moved struct {
	Verdict result.Verdict `json:"verdict"`
	File    string         `json:"file"`
	From    string         `json:"from"` // the commit of the old baseline build
	// Build is the appended block, or the block that a refused move would have appended.
	Build    baselinebuild.Build     `json:"build"`
	Products []baselinebuild.Product `json:"products"` // include Build
	Refused  []string                `json:"refused,omitempty"`
}

func (f *moveFlags) run(c *cobra.Command, args []string, revision string, compare comparing) error {
	if err := f.check(); err != nil {
		return misused(c, "", "%v", err)
	}
	path := filepath.Join(f.baselines, baselinebuild.FileName)
	file, err := baselinebuild.Read(path)
	if err != nil {
		return err
	}
	commit, err := movable(c, revision, file.Current())
	if err != nil {
		return err
	}
	plan := movePlan{base: file.Current().Commit, change: commit, files: f.scenarios, out: f.out}
	if len(plan.files) == 0 {
		plan.files = []string{""}
	}
	if err := plan.check(c); err != nil {
		return err
	}
	say(c.ErrOrStderr(), "comparing the baseline build %s, in force since %s, with %s", render.Commit(plan.base), file.Current().Date, render.Commit(commit))
	compared, err := compare(c, args, plan)
	if err != nil {
		return err
	}
	decided := decideMove(file, baselinebuild.Build{
		// The builds of a file are in the order of their dates, even if this host's clock is
		// behind.
		Commit: commit, Date: max(time.Now().UTC().Format(time.DateOnly), file.Current().Date), Because: f.because, AcceptCreep: f.acceptCreep,
	}, compared)
	decided.File = path
	return f.finish(c, file, decided)
}

func (f *moveFlags) check() error {
	var errs []error
	if err := baselinebuild.CheckText(f.because); err != nil {
		errs = append(errs, fmt.Errorf("--because %w: say why the baseline build moves", err))
	}
	if f.acceptCreep != "" {
		if err := baselinebuild.CheckText(f.acceptCreep); err != nil {
			errs = append(errs, fmt.Errorf("--accept-creep %w: say why the loss is accepted", err))
		}
	}
	return errors.Join(errs...)
}

// movable returns the commit of a revision if the baseline build can move to it.
func movable(c *cobra.Command, revision string, current baselinebuild.Build) (string, error) {
	ctx := c.Context()
	commit, err := git(ctx, ".", "rev-parse", "--verify", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return "", noCommit(ctx, ".", revision, err)
	}
	if commit == current.Commit {
		return "", fmt.Errorf("%s has been the baseline build since %s: name another commit", render.Commit(commit), current.Date)
	}
	if _, err := git(ctx, ".", "rev-parse", "--verify", current.Commit+"^{commit}"); err != nil {
		return "", fmt.Errorf("the repository lacks the baseline build %s, which %s is compared with: fetch the whole history, as `git fetch --unshallow` does: %w",
			render.Commit(current.Commit), render.Commit(commit), err)
	}
	beyond, err := git(ctx, ".", "rev-list", "--max-count=1", commit, "--not", "HEAD")
	if err != nil {
		return "", err
	}
	if beyond != "" {
		return "", fmt.Errorf("%s is neither HEAD nor an ancestor of it, so a limit relative to it would judge changes that HEAD lacks: merge it first, or name an ancestor",
			render.Commit(commit))
	}
	return commit, nil
}

// check loads the scenarios before anything is measured.
func (p movePlan) check(c *cobra.Command) error {
	root, err := git(c.Context(), ".", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	var names []string
	for _, file := range p.files {
		s, err := (&compareFlags{scenario: file}).load(c, root)
		if err != nil {
			return err
		}
		if err := duet.Fits(s); err != nil {
			return fmt.Errorf("scenario %q cannot be measured as a duet: name another one: %w", s.Name, err)
		}
		if slices.Contains(names, s.Name) {
			return fmt.Errorf("scenario %q is repeated", s.Name)
		}
		names = append(names, s.Name)
	}
	return nil
}

// compareCommits implements comparing with real measurements.
func compareCommits(c *cobra.Command, args []string, plan movePlan) (all []*result.Comparison, err error) {
	for _, file := range plan.files {
		f := compareFlags{base: plan.base, change: plan.change, scenario: file, out: plan.out}
		compared, folder, err := f.measure(c, args, gate.DefaultPolicy())
		if err != nil {
			return nil, err
		}
		f.show(c, compared, folder)
		all = append(all, compared)
	}
	return all, nil
}

// finish appends the block unless the move is refused, prints the decision, and returns the
// command's error.
func (f *moveFlags) finish(c *cobra.Command, file *baselinebuild.File, decided moved) error {
	stderr := c.ErrOrStderr()
	if len(decided.Refused) == 0 {
		written, err := baselinebuild.Append(decided.File, decided.Build)
		if err != nil {
			return fmt.Errorf("the move is not recorded: %w", err)
		}
		file = written
		if f.acceptCreep != "" && decided.Build.AcceptCreep == "" {
			say(stderr, "no product fell below %v of its best: --accept-creep is not recorded", baselinebuild.CreepShare)
		}
		say(stderr, "%s", strings.TrimSuffix(historypage.BaselineBuilds(file).Terminal(), "\n"))
		say(stderr, "  recorded in %s: commit the file", decided.File)
	} else {
		say(stderr, "the baseline build stays %s, in force since %s:", render.Commit(decided.From), file.Current().Date)
		for _, reason := range decided.Refused {
			say(stderr, "  %s", reason)
		}
	}
	if f.json {
		if err := printJSON(c, decided); err != nil {
			return err
		}
	}
	if decided.Verdict != result.Pass {
		return verdictError{decided.Verdict}
	}
	return nil
}

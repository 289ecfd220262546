package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

type publishFlags struct {
	out, reports, baselines string
	tags, only              []string
	within                  time.Duration
	again, json             bool
}

func publishCommand(args []string) *cobra.Command {
	var f publishFlags
	c := &cobra.Command{
		Use:   "publish [FILE|DIR...]",
		Short: "Measure scenarios whose pages are out of date, and publish each complete run",
		Long: `Runs scenarios one after the other, as prony run does, and publishes each complete run with its verdict: its data to DIR/data,
its page to DIR/scenarios and its headline figures to DIR/history, as prony report --publish DIR does. Without FILE or DIR it uses
the scenarios of scenarios/.

A run is complete if its verdict, which is that of prony check, is pass, regressed, inconclusive or incorrect. The page and the index
name the limits that it breaks. An incorrect run publishes the lost, duplicated or corrupted tasks, and no figures; if it measured
several other queue servers (target blocks), those with a balanced account keep their figures. A run is not complete if it is invalid,
because the host or the load was not fit, or misconfigured, because its limits are for another configuration. Such a run says nothing
about the build and stays in --out. An interrupted run has no result. The command ends with the worst verdict.

A scenario is skipped if its page is up to date: the published run has the same configuration and rounds, and no measured file has
changed since its commit. Measured files are those of engine/ and harness/, except tests, documents and the packages that judge and
show finished runs. A command that was stopped, or ran out of time, therefore continues when it is started again. --again measures all.

The measured tree must be a commit: no file may have uncommitted changes, except the published pages and baselines/, the scenario files
must be part of that commit, and the server must be built from it. In folders it skips soaks (prony soak), scenarios on other hosts, and
scenarios for which an unfit host is only a warning. Such a file as an argument is an error.`,
		Example: `  prony publish --within 2h
  prony publish scenarios/durability.hcl scenarios/knobs
  prony publish --only peers-os scenarios/peers.hcl`,
		ValidArgsFunction: completeScenarioFiles,
		RunE: func(c *cobra.Command, paths []string) error {
			limits, err := shownLimits(c, f.baselines)
			if err != nil {
				return err
			}
			document, err := f.publish(c.Context(), limits, args, paths, c.ErrOrStderr())
			return finish(c, f.json, document, err)
		},
	}
	c.Flags().StringVar(&f.out, "out", defaultOut, "parent folder for run folders")
	c.Flags().StringVar(&f.reports, "reports", defaultReports, "folder of the published pages")
	baselinesFlag(c, &f.baselines)
	c.Flags().StringArrayVar(&f.tags, "tag", nil, "only scenarios with this tag; with several, with all of them")
	c.Flags().StringArrayVar(&f.only, "only", nil, "only the scenario of this name; may be repeated")
	c.Flags().DurationVar(&f.within, "within", 0, "start no scenario that is expected to end later than this after the start; 0: no limit")
	c.Flags().BoolVar(&f.again, "again", false, "also measure scenarios whose pages are up to date")
	completeFlag(c, "tag", completeTags)
	completeFlag(c, "only", completeNames)
	jsonFlag(c, &f.json)
	return c
}

// publish measures the scenarios without an up-to-date page.
func (f *publishFlags) publish(ctx context.Context, limits *gate.Baselines, args, paths []string, stderr io.Writer) (_ *result.Document, err error) {
	if f.within < 0 {
		return nil, fmt.Errorf("--within %v is below 0: use the time that all runs may take, or 0", f.within)
	}
	if len(paths) == 0 {
		paths = []string{defaultScenarios}
	}
	scenarios, err := publishable(paths)
	if err != nil {
		return nil, err
	}
	if scenarios, err = tagged(scenarios, f.tags, paths); err != nil {
		return nil, err
	}
	if scenarios, err = scenariosNamed(scenarios, f.only, paths); err != nil {
		return nil, err
	}
	code, err := committedCode(ctx, f.reports)
	if err != nil {
		return nil, err
	}
	for _, s := range scenarios {
		if err := committedFile(ctx, s.File); err != nil {
			return nil, err
		}
	}
	if !f.again {
		left := slices.DeleteFunc(slices.Clone(scenarios), func(s *scenario.Scenario) bool { return code.has(ctx, f.reports, s) })
		say(stderr, "publish: %d of %d scenarios have an up-to-date page", len(scenarios)-len(left), len(scenarios))
		scenarios = left
	}
	binaries, err := builtServers(ctx, scenarios, stderr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, binaries.close(ctx)) }()
	if err := code.built(ctx, binaries.found); err != nil {
		return nil, err
	}
	p := &publication{
		began: time.Now(), within: f.within, stderr: stderr, limits: limits, reports: f.reports,
		execute: func(ctx context.Context, s *scenario.Scenario, place *run.Place) (*result.Result, string, error) {
			return measureScenario(ctx, s, binaries, run.Options{Out: f.out, Command: args, Place: place, JudgedLater: true}, stderr)
		},
	}
	err = p.all(ctx, scenarios)
	document := result.NewDocument(p.outcomes...)
	if len(p.outcomes) == 0 {
		document.Verdict = result.Pass // everything is published, or was not to start
	}
	return document, err
}

// scenariosNamed returns the scenarios with one of the names, or all without a name.
func scenariosNamed(scenarios []*scenario.Scenario, names, paths []string) ([]*scenario.Scenario, error) {
	if len(names) == 0 {
		return scenarios, nil
	}
	var known []string
	for _, s := range scenarios {
		known = append(known, s.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("--only %q: no scenario in %s has that name; %s", name, strings.Join(paths, ", "), whichOf(name, known))
		}
	}
	return slices.DeleteFunc(scenarios, func(s *scenario.Scenario) bool { return !slices.Contains(names, s.Name) }), nil
}

// publishable loads the scenarios of files and folders whose results may be published.
func publishable(paths []string) (all []*scenario.Scenario, err error) {
	var v vars
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("find what to publish: %w: name a file or a folder of scenarios", err)
		}
		files := []string{path}
		if info.IsDir() {
			if files, err = findScenarios(path); err != nil {
				return nil, err
			}
		}
		scenarios, err := v.load(files)
		if err != nil {
			return nil, err
		}
		for _, s := range scenarios {
			problem := publishProblem(s)
			if problem != nil && !info.IsDir() {
				return nil, problem
			}
			if problem == nil && !slices.ContainsFunc(all, func(o *scenario.Scenario) bool { return o.Name == s.Name }) {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

// publishProblem returns an error if prony publish cannot publish results of a scenario.
func publishProblem(s *scenario.Scenario) error {
	switch {
	case s.Soak != nil:
		return s.SoakProblem("prony publish")
	case s.Topology.Kind == scenario.Remote:
		return fmt.Errorf("%s: scenario %q has servers on other hosts: use prony run, and prony report --publish", s.File, s.Name)
	case s.Validity.Warn:
		return fmt.Errorf("%s: scenario %q only warns of an unfit host (validity.on_breach), so its figures may be wrong: remove that, or use prony run",
			s.File, s.Name)
	}
	return nil
}

// publication measures scenarios and publishes the complete runs.
type publication struct {
	began    time.Time
	within   time.Duration
	stderr   io.Writer
	limits   *gate.Baselines
	reports  string
	execute  func(context.Context, *scenario.Scenario, *run.Place) (*result.Result, string, error)
	outcomes []result.Outcome
}

// all measures one scenario after the other. It returns an error only for failures that would also
// affect the next scenarios.
func (p *publication) all(ctx context.Context, scenarios []*scenario.Scenario) error {
	published, late := 0, 0
	var after time.Duration
	for _, s := range scenarios {
		after += s.Expected()
	}
	for i, s := range scenarios {
		after -= s.Expected()
		if p.within > 0 && time.Since(p.began)+s.Expected() > p.within {
			say(p.stderr, "%s: not started: it takes about %s, and --within leaves %s", s.Name, roughly(s.Expected()), roughly(p.within-time.Since(p.began)))
			late++
			continue
		}
		r, folder, err := p.execute(ctx, s, &run.Place{Number: i + 1, Of: len(scenarios), After: after})
		if err != nil {
			return err
		}
		judged := report.Judge(p.limits, r)
		outcome := checked(&report.Stored{Run: r, Judged: judged}, folder)
		files, err := publishRun(ctx, p.stderr, p.limits, folder, p.reports)
		var refused *report.UnpublishableError
		switch {
		case errors.As(err, &refused):
			say(p.stderr, "%s: %s, not published: %s: its figures are in %s", s.Name, r.Verdict, strings.Join(refused.Reasons, "; "), folder)
		case err != nil:
			return err
		default:
			outcome.Page = files[0]
			published++
			say(p.stderr, "%s: %s", s.Name, publishedText(judged, files[0]))
		}
		p.outcomes = append(p.outcomes, outcome)
	}
	say(p.stderr, "publish: %d published, %d not complete, %d not started", published, len(p.outcomes)-published, late)
	return nil
}

// publishedText names the page of a run, preceded by the verdict and its reason unless it is pass.
func publishedText(judged gate.Report, page string) string {
	if judged.Verdict == result.Pass {
		return "published as " + page
	}
	return fmt.Sprintf("%s, published as %s: %s", judged.Verdict, page, report.Why(judged))
}

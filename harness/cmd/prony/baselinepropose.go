package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/artifact"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

func proposeCommand() *cobra.Command {
	var baselines string
	var write, asJSON bool
	c := &cobra.Command{
		Use:   "propose [RUN|ARCHIVE|FILE.hcl...]",
		Short: "Update the observed values of limits in baselines and scenarios",
		Long: `Compares the observed value of each limit with that of stored runs. Prints the resulting changes of the files as a diff
on stdout, and the evidence on stderr: old and new value, rounds, range, commit and host. With --write it changes the
files. Comments, reasons and bounds do not change: only a person chooses a bound. If a scenario has several runs, it uses
the newest. Without RUN it uses the newest run.

The limits are those of the scenario's baseline and of the "limit" blocks in the current version of the scenario's file.
It only prints the new values of a "limit" block that is in an included file, because that file also applies to other
scenarios, and of a scenario whose file does not exist here.

ARCHIVE is a .zip or .tar.gz that contains runs, such as an artifact of a CI job (perf-smoke of the workflows) or a packed
runs folder. It skips the arms of comparisons, and soaks, which have no limits.

Each baseline names the configuration that its limits were set for: a hash of the scenario's topology, workloads, phases
and other settings that affect the measurement. "prony check" rejects a run with another hash. For a scenario's file,
FILE.hcl, this command compares the two hashes, and with --write stores the new one. First check that the limits still
suit the changed scenario.`,
		Example: `  prony baseline propose
  prony baseline propose perf-smoke.zip | git apply -p0
  prony baseline propose --write reports/data/*
  prony baseline propose --write scenarios/smoke.hcl`,
		RunE: func(c *cobra.Command, args []string) error {
			document, err := propose(c, baselines, args, write, asJSON)
			return finish(c, asJSON, document, err)
		},
	}
	c.Flags().StringVar(&baselines, "baselines", defaultBaselines, "folder of the baselines")
	c.Flags().BoolVar(&write, "write", false, "write the values to the files")
	jsonFlag(c, &asJSON)
	return c
}

// proposing collects the new texts of baseline and scenario files during one command.
type proposing struct {
	limits *gate.Baselines
	people io.Writer // output for people
	files  []string  // in the order in which they were first read
	before map[string][]byte
	after  map[string][]byte
}

func propose(c *cobra.Command, baselines string, args []string, write, asJSON bool) (*result.Document, error) {
	limits, absent := loadBaselines(baselines)
	if absent != nil && (!errors.Is(absent, fs.ErrNotExist) || c.Flags().Changed("baselines")) {
		return nil, absent
	}
	args, err := orLatest(args)
	if err != nil {
		return nil, errors.Join(absent, err)
	}
	p := proposing{limits: limits, people: c.ErrOrStderr(), before: map[string][]byte{}, after: map[string][]byte{}}
	runs, err := p.read(args)
	if err != nil {
		return nil, err
	}
	unlimited := func(r *result.Result) bool { return len(r.Manifest.Scenario.Limits) == 0 }
	if absent != nil && (len(runs) == 0 || slices.ContainsFunc(runs, unlimited)) {
		return nil, absent
	}
	for _, r := range p.newest(runs) {
		if err := p.run(r); err != nil {
			return nil, err
		}
	}
	diffs := c.OutOrStdout()
	if asJSON {
		diffs = c.ErrOrStderr()
	}
	for _, file := range p.files {
		if _, err := io.WriteString(diffs, render.Diff(file, string(p.before[file]), string(p.after[file]))); err != nil {
			return nil, fmt.Errorf("write the diff: %w", err)
		}
		if write && string(p.before[file]) != string(p.after[file]) {
			if err := result.WriteFile(file, p.after[file]); err != nil {
				return nil, err
			}
		}
	}
	return &result.Document{Verdict: result.Pass, Scenarios: []result.Outcome{}}, nil
}

// read reads the given runs, and compares the configurations of the given scenarios.
func (p *proposing) read(args []string) (runs []*result.Result, err error) {
	people := p.people
	defer func() { p.people = people }()
	err = during(people, "reading", func(a *activity) error {
		p.people = a
		for i, arg := range args {
			a.step("%s, %d of %d", arg, i+1, len(args))
			if strings.HasSuffix(arg, ".hcl") {
				if err := p.configurations(arg); err != nil {
					return err
				}
				continue
			}
			more, err := readRuns(arg)
			if err != nil {
				return err
			}
			runs = append(runs, more...)
		}
		return nil
	})
	return runs, err
}

// readRuns reads the run in a folder, or all runs in an archive.
func readRuns(arg string) (runs []*result.Result, err error) {
	folders := []string{arg}
	if artifact.Is(arg) {
		dir, err := os.MkdirTemp("", "prony-archive-")
		if err != nil {
			return nil, fmt.Errorf("make a folder for the archive's runs: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if folders, err = artifact.Unpack(arg, dir); err != nil {
			return nil, err
		}
	}
	for _, folder := range folders {
		if unlimited, err := hasNoLimits(folder); err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		} else if unlimited {
			continue
		}
		r, _, err := result.Read(folder)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// hasNoLimits reports whether a folder has a soak or a serial budget. Baselines do not limit those.
func hasNoLimits(folder string) (bool, error) {
	soaked, err := result.IsSoak(folder)
	if soaked || err != nil {
		return soaked, err
	}
	return result.IsSerial(folder)
}

// newest returns the latest run of each scenario, in the order of their first appearance.
func (p *proposing) newest(runs []*result.Result) (all []*result.Result) {
	for _, r := range runs {
		i := slices.IndexFunc(all, func(o *result.Result) bool { return o.Scenario == r.Scenario })
		switch {
		case i < 0:
			all = append(all, r)
		case all[i].Run == r.Run: // runs/latest, for example, is the newest run again
		default:
			if r.Started.After(all[i].Started) {
				r, all[i] = all[i], r
			}
			say(p.people, "%s: skipped run %s: %s is newer", r.Scenario, r.Run, all[i].Run)
		}
	}
	return all
}

// configurations compares the configurations of the scenarios in a file with those of their
// baselines.
func (p *proposing) configurations(file string) error {
	scenarios, err := scenario.LoadChecked(nil, scenarioChecks, file)
	if err != nil {
		return err
	}
	for _, s := range scenarios {
		err := p.change(s.Name, len(s.Limits) > 0, func(src []byte, b gate.Baseline) ([]byte, []gate.Change, error) {
			return gate.ProposeConfiguration(src, b.File, b, s)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *proposing) run(r *result.Result) error {
	m := r.Manifest
	commit := m.Build.Commit
	if m.Build.Dirty {
		commit += ", with changes"
	}
	say(p.people, "%s: run %s of %s: %s; commit %s; on %s, %s", r.Scenario, r.Run, r.Started.UTC().Format(time.DateOnly), r.Verdict,
		commit, m.Host.CPUModel, render.Plural(m.Host.CPUs, "CPU"))
	if err := p.own(r); err != nil {
		return err
	}
	return p.change(r.Scenario, len(m.Scenario.Limits) > 0, func(src []byte, b gate.Baseline) ([]byte, []gate.Change, error) {
		return gate.Propose(src, b.File, b, r)
	})
}

// own records the proposed changes of the "limit" blocks of the scenario's own file.
func (p *proposing) own(r *result.Result) error {
	stored := r.Manifest.Scenario
	if len(stored.Limits) == 0 {
		return nil
	}
	// The file may be in another checkout.
	if _, err := os.Stat(stored.File); errors.Is(err, fs.ErrNotExist) {
		p.say(r.Scenario, gate.ProposeCarried(r))
		return nil
	}
	scenarios, err := scenario.LoadChecked(nil, scenarioChecks, stored.File)
	if err != nil {
		return fmt.Errorf("read the limits of %s: %w", r.Scenario, err)
	}
	i := slices.IndexFunc(scenarios, func(s *scenario.Scenario) bool { return s.Name == r.Scenario })
	if i < 0 {
		say(p.people, "%s: %s no longer has this scenario", r.Scenario, stored.File)
		return nil
	}
	return p.edit(r.Scenario, stored.File, func(src []byte) ([]byte, []gate.Change, error) {
		return gate.ProposeOwn(src, scenarios[i], r)
	})
}

// change records the proposed changes of a scenario's baseline. carries is true if the scenario has
// limit blocks and therefore needs no baseline.
func (p *proposing) change(name string, carries bool, propose func(src []byte, b gate.Baseline) ([]byte, []gate.Change, error)) error {
	baseline, found := p.limits.For(name)
	if !found {
		if !carries {
			say(p.people, "%s: no baseline", name)
		}
		return nil
	}
	return p.edit(name, baseline.File, func(src []byte) ([]byte, []gate.Change, error) { return propose(src, baseline) })
}

// edit records the proposed changes of a file for a scenario.
func (p *proposing) edit(name, file string, propose func(src []byte) ([]byte, []gate.Change, error)) error {
	if _, read := p.before[file]; !read {
		src, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read the limits of %s: %w", name, err)
		}
		p.before[file], p.after[file] = src, src
		p.files = append(p.files, file)
	}
	text, changes, err := propose(p.after[file])
	if err != nil {
		return err
	}
	p.after[file] = text
	p.say(name, changes)
	return nil
}

// say prints changes with their evidence.
func (p *proposing) say(name string, changes []gate.Change) {
	for _, change := range changes {
		line := fmt.Sprintf("%s: %s: %s", name, change.Limit, change.To)
		if change.Evidence != "" {
			line += " (" + change.Evidence + ")"
		}
		if change.From == "" {
			line += ", was nothing"
		} else {
			line += ", was " + change.From
		}
		if change.Where != "" {
			line += "; write it at " + change.Where
		}
		say(p.people, "%s", line)
	}
}

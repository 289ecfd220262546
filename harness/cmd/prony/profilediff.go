package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// profileDiff is what `prony profile diff --json` prints.
type profileDiff struct {
	Base     profiledSide          `json:"base"`
	Change   profiledSide          `json:"change"`
	Profiles []result.ProfileDelta `json:"profiles"`
	Warnings []string              `json:"warnings"`
}

type profiledSide struct {
	Run    string `json:"run"`
	Commit string `json:"commit"`
	Rounds int    `json:"rounds"` // number of profiled rounds
	Cycles uint64 `json:"cycles"` // cycles of their windows
}

func profileDiffCommand() *cobra.Command {
	var of profileOf
	var asJSON bool
	c := &cobra.Command{
		Use:   "diff BASE CHANGE",
		Short: "List the functions whose cost per cycle differs between two runs",
		Long: `Compares the cost of each function per cycle in the profiles of two runs, over their profiled rounds and all nodes
together. It lists the functions whose difference has a 95 % interval, bootstrapped over the rounds, that excludes zero.
Each run needs at least two profiled rounds (such as profiled_rounds = 3), because one does not show how rounds vary. One in
twenty functions without a difference is listed by chance.`,
		Example:           `  prony profile diff runs/20261121T171500.123Z-smoke runs/20261122T090000.456Z-smoke`,
		Args:              twoRuns.check,
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, runs []string) error {
			var d *profileDiff
			err := during(c.ErrOrStderr(), "comparing the profiles", func(*activity) (err error) {
				d, err = diffOf(runs[0], runs[1], of.point)
				return err
			})
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c, d)
			}
			return writeDiff(c, d)
		},
	}
	of.flags(c, "")
	jsonFlag(c, &asJSON)
	return c
}

func diffOf(base, change string, point int) (*profileDiff, error) {
	d := &profileDiff{Warnings: []string{}}
	var results [2]*result.Result
	var rounds [2][]profile.PerRound
	for i, folder := range []string{base, change} {
		_, r, err := readProfiled([]string{folder})
		if err != nil {
			return nil, err
		}
		at := point
		if at == 0 {
			at = r.Profiles[0].Point
		}
		if rounds[i], err = profile.Rounds(folder, r, at); err != nil {
			return nil, fmt.Errorf("run %s: %w", folder, err)
		}
		side := profiledSide{Run: folder, Commit: r.Manifest.Build.Revision(), Rounds: len(rounds[i])}
		for _, p := range rounds[i] {
			side.Cycles += p.Cycles
		}
		results[i] = r
		if i == 0 {
			d.Base = side
		} else {
			d.Change = side
		}
	}
	if a, b := results[0].Scenario, results[1].Scenario; a != b {
		d.Warnings = append(d.Warnings, fmt.Sprintf("the runs have different scenarios, %s and %s", a, b))
	}
	if a, b := results[0].Manifest.Host.CPUModel, results[1].Manifest.Host.CPUModel; a != b {
		d.Warnings = append(d.Warnings, fmt.Sprintf("the runs are from different hosts, with %s and %s", a, b))
	}
	var err error
	d.Profiles, err = profile.Diff(rounds[0], rounds[1])
	if d.Profiles == nil {
		d.Profiles = []result.ProfileDelta{}
	}
	return d, err
}

func writeDiff(c *cobra.Command, d *profileDiff) error {
	for _, w := range d.Warnings {
		say(c.ErrOrStderr(), "warning: %s", w)
	}
	for _, s := range []struct {
		name string
		profiledSide
	}{{"base", d.Base}, {"change", d.Change}} {
		say(c.OutOrStdout(), "%s: %s, commit %s, %s", s.name, s.Run, s.Commit, profiledText(s.Rounds, s.Cycles))
	}
	if len(d.Profiles) == 0 {
		say(c.OutOrStdout(), "No function differs by more than the variation between rounds.")
		return nil
	}
	var rows [][]string
	for _, p := range d.Profiles {
		rows = append(rows, []string{
			p.Kind, signed(p.Change-p.Base, p.Unit), signed(p.Low, p.Unit) + " to " + signed(p.High, p.Unit),
			render.Amount(p.Base, p.Unit), render.Amount(p.Change, p.Unit), strings.ReplaceAll(p.Function, module, ""),
		})
	}
	return table(c, []string{"PROFILE", "PER CYCLE", "95 % INTERVAL", "BASE", "CHANGE", "FUNCTION"}, rows)
}

func signed(v float64, unit string) string {
	text := render.Amount(v, unit)
	if v > 0 {
		return "+" + text
	}
	return text
}

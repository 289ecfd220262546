package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// profileTop is what `prony profile top --json` prints. Values are in the profile's unit, divided
// by the cycles if PerCycle is set.
type profileTop struct {
	Run      string         `json:"run"`
	Scenario string         `json:"scenario"`
	Profile  result.Profile `json:"profile"`
	PerCycle bool           `json:"per_cycle"`
}

func profileTopCommand() *cobra.Command {
	var of profileOf
	var perCycle, asJSON bool
	c := &cobra.Command{
		Use:   "top [RUN]",
		Short: "List the most expensive functions of a profile",
		Long: `Lists the functions of a profile by their own cost (flat), and shows their cost with all functions that they call (cum).
Waiting time is charged to the function that waited or unlocked, not to the runtime. Without RUN it shows the newest run.`,
		Example: `  prony profile top
  prony profile top --kind allocs --per-cycle runs/20261121T171500.123Z-smoke`,
		Args:              oneRun.check,
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, runs []string) error {
			folder, r, err := readProfiled(runs)
			if err != nil {
				return err
			}
			p, err := of.pick(r)
			if err != nil {
				return err
			}
			if perCycle {
				if p, err = dividedByCycles(p); err != nil {
					return err
				}
			}
			if asJSON {
				return printJSON(c, profileTop{folder, r.Scenario, p, perCycle})
			}
			return writeTop(c, r, p, perCycle)
		},
	}
	of.flags(c, "cpu")
	of.nodeFlag(c)
	c.Flags().BoolVar(&perCycle, "per-cycle", false, "divide by the cycles of the profiled windows")
	jsonFlag(c, &asJSON)
	return c
}

func dividedByCycles(p result.Profile) (result.Profile, error) {
	switch {
	case p.Kind == "goroutine":
		return p, fmt.Errorf("--per-cycle: a goroutine profile is a snapshot and cannot be divided by cycles")
	case p.Cycles == 0:
		return p, fmt.Errorf("--per-cycle: the profiled windows had no cycle, or the run was stored by an earlier version")
	}
	n := float64(p.Cycles)
	p.Total /= n
	top := make([]result.ProfileEntry, len(p.Top))
	for i, e := range p.Top {
		e.Flat, e.Cum = e.Flat/n, e.Cum/n
		top[i] = e
	}
	p.Top = top
	return p, nil
}

func writeTop(c *cobra.Command, r *result.Result, p result.Profile, perCycle bool) error {
	each := ""
	if perCycle {
		each = " per cycle"
	}
	say(c.OutOrStdout(), "%s: %s%s: %s%s; %s", r.Scenario, p.Kind, named(r, p.Point, p.Node),
		render.Amount(p.Total, p.Unit), each, profiledText(p.Rounds, p.Cycles))
	var rows [][]string
	for _, e := range p.Top {
		rows = append(rows, []string{
			render.Amount(e.Flat, p.Unit), render.Percent(e.Share), render.Amount(e.Cum, p.Unit), strings.ReplaceAll(e.Function, module, ""),
		})
	}
	if err := table(c, []string{"FLAT", "SHARE", "CUM", "FUNCTION"}, rows); err != nil {
		return err
	}
	if p.Kind == "block" {
		say(c.ErrOrStderr(), "note: idle goroutines count as waiting; prony profile locks excludes them")
	}
	return nil
}

func profiledText(rounds int, cycles uint64) string {
	switch rounds {
	case 0:
		return "1 profiled round"
	case 1:
		return fmt.Sprintf("1 profiled round, %d cycles", cycles)
	}
	return fmt.Sprintf("%d profiled rounds, %d cycles", rounds, cycles)
}

package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/stalls"
	"github.com/pronybench/prony/harness/result"
)

// profileStalls is what `prony profile stalls --json` prints.
type profileStalls struct {
	Run      string              `json:"run"`
	Scenario string              `json:"scenario"`
	Causes   []result.StallCause `json:"causes"` // of the timed rounds
	Rounds   []roundStalls       `json:"rounds"`
}

// roundStalls are the slow commits of one round.
type roundStalls struct {
	Round    int            `json:"round"`
	Point    int            `json:"point,omitempty"`
	Profiled bool           `json:"profiled"`
	Stalls   *result.Stalls `json:"stalls"`
}

// commitsShown is the number of slow commits in the output for people; --json has all.
const commitsShown = 30

func profileStallsCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "stalls [RUN]",
		Short: "List the slow commits, with their causes and concurrent background work",
		Long: `Lists the commits that took more than 5 ms in the windows of a run, the longest first: where each spent its time, and the
flushes, compactions, fsyncs and garbage collections that ran during it. The causes are those of the timed rounds; the list
covers all rounds. No capture is needed. Without RUN it shows the newest run.`,
		Example: `  prony profile stalls
  prony profile stalls --json runs/20261121T171500.123Z-smoke`,
		Args:              oneRun.check,
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, runs []string) error {
			runs, err := orLatest(runs)
			if err != nil {
				return err
			}
			r, _, err := result.Read(runs[0])
			if err != nil {
				return err
			}
			found := profileStalls{Run: runs[0], Scenario: r.Scenario, Causes: []result.StallCause{}, Rounds: []roundStalls{}}
			timed := slices.DeleteFunc(slices.Clone(r.Rounds), func(round result.Round) bool { return !round.Timed() })
			found.Causes = append(found.Causes, result.MergeStallCauses(timed)...)
			for _, round := range r.Rounds {
				if round.Stalls != nil {
					found.Rounds = append(found.Rounds, roundStalls{round.Number, round.Point, round.Profiled, round.Stalls})
				}
			}
			if len(found.Rounds) == 0 {
				return fmt.Errorf("run %s has no record of slow commits: its servers do not store one", runs[0])
			}
			if asJSON {
				return printJSON(c, found)
			}
			return writeStalls(c, found)
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

func writeStalls(c *cobra.Command, found profileStalls) error {
	type of struct {
		round  string
		commit result.SlowCommit
	}
	var all []of
	var missing uint64
	for _, round := range found.Rounds {
		name := fmt.Sprint(round.Round)
		if round.Profiled {
			name += " (profiled)"
		}
		for _, commit := range round.Stalls.Commits {
			all = append(all, of{name, commit})
		}
		missing += round.Stalls.Missing
	}
	if len(all) == 0 {
		say(c.OutOrStdout(), "%s: no commit took more than %s ms", found.Scenario, render.Number(found.Rounds[0].Stalls.SlowMs))
		return nil
	}
	if len(found.Causes) > 0 {
		var causes [][]string
		for _, cause := range found.Causes {
			causes = append(causes, []string{cause.Cause, render.Count(cause.Commits), render.Number(cause.Ms)})
		}
		if err := table(c, []string{"CAUSE", "COMMITS", "MS"}, causes); err != nil {
			return err
		}
		say(c.OutOrStdout(), "")
	}
	slices.SortStableFunc(all, func(a, b of) int { return cmp.Compare(b.commit.Ms, a.commit.Ms) })
	shown := all[:min(len(all), commitsShown)]
	var rows [][]string
	for _, o := range shown {
		s := o.commit
		rows = append(rows, []string{
			o.round, render.Number(s.AtS), render.Number(s.Ms), stalls.Place(s), stalls.Parts(s), stalls.Beside(s),
		})
	}
	if err := table(c, []string{"ROUND", "AT S", "MS", "SHARD", "CAUSES, MS", "BESIDE IT"}, rows); err != nil {
		return err
	}
	if more := uint64(len(all)-len(shown)) + missing; more > 0 {
		say(c.ErrOrStderr(), "note: %s more slow commits are not listed; --json has all that the run stored", render.Count(more))
	}
	return nil
}

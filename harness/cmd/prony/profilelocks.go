package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// profileLocks is what `prony profile locks --json` prints.
type profileLocks struct {
	Run      string        `json:"run"`
	Scenario string        `json:"scenario"`
	Locks    []result.Lock `json:"locks"`
	// of all goroutines of a server; empty if the run has only summaries of its profiles
	Waits   []waits  `json:"waits"`
	Caveats []string `json:"caveats"`
}

// waits are nanoseconds, summed over all goroutines.
type waits struct {
	Point    int     `json:"point,omitempty"`
	Node     string  `json:"node,omitempty"`
	LockNs   float64 `json:"lock_ns"`
	WorkNs   float64 `json:"work_ns"`   // idle
	AnswerNs float64 `json:"answer_ns"` // of a stage, the disk or another node
}

// sitesShown is the number of holders and of waiters shown for a lock; --json has all.
const sitesShown = 3

func profileLocksCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "locks [RUN]",
		Short: "List the locks that goroutines waited for, who held them and who waited",
		Long: `Joins the mutex profile, which charges the goroutine that unlocked, with the block profile, which charges the goroutine
that waited, by their common lock. An idle goroutine, or one that waits for an answer whose time is in the stages, does not
wait for a lock. A scenario needs capture "mutex" {} and capture "block" {}. Without RUN it shows the newest run.`,
		Example: `  prony profile locks
  prony profile locks --json runs/20261121T171500.123Z-smoke`,
		Args:              oneRun.check,
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, runs []string) error {
			folder, r, err := readProfiled(runs)
			if err != nil {
				return err
			}
			found := profileLocks{Run: folder, Scenario: r.Scenario, Locks: append([]result.Lock{}, r.Locks...), Waits: []waits{}, Caveats: profile.Caveats()}
			if found.Waits, err = waitsOf(folder, r); err != nil {
				return err
			}
			if asJSON {
				return printJSON(c, found)
			}
			return writeLocks(c, r, found)
		},
	}
	jsonFlag(c, &asJSON)
	return c
}

// waitsOf computes the waits of goroutines from the profiles, if the run has them and not only
// their summaries.
func waitsOf(folder string, r *result.Result) ([]waits, error) {
	all := []waits{}
	contention := false
	for _, p := range r.Profiles {
		contention = contention || p.Kind == "mutex" || p.Kind == "block"
		if p.Kind != "block" {
			continue
		}
		a, err := profile.ReadWaits(folder, profile.Source{Point: p.Point, Node: p.Node})
		if errors.Is(err, fs.ErrNotExist) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, waits{p.Point, p.Node, a.LockNs, a.WorkNs, a.AnswerNs})
	}
	if !contention {
		return nil, errors.New(`the run has no profiles of locks: add capture "mutex" {} and capture "block" {} to the scenario`)
	}
	return all, nil
}

func writeLocks(c *cobra.Command, r *result.Result, found profileLocks) error {
	for _, w := range found.Waits {
		all := w.LockNs + w.WorkNs + w.AnswerNs
		if all == 0 {
			continue
		}
		say(c.OutOrStdout(), "%s%s: goroutines waited %s in all: %s for work, %s for answers, %s for locks",
			r.Scenario, named(r, w.Point, w.Node), render.Nanoseconds(all), render.Percent(w.WorkNs/all), render.Percent(w.AnswerNs/all), render.Percent(w.LockNs/all))
	}
	if len(found.Locks) == 0 {
		say(c.OutOrStdout(), "%s: no goroutine waited for a lock", r.Scenario)
	} else {
		if first := slices.IndexFunc(found.Locks, func(l result.Lock) bool { return l.Kind != "runtime" }); first >= 0 {
			say(c.OutOrStdout(), "%s", profile.Sentence(found.Locks[first]))
		}
		var rows [][]string
		for _, l := range found.Locks {
			rows = append(rows, lockRow(r, l))
			if l.Kind == "runtime" {
				continue // only its name is known
			}
			for _, s := range l.Holders[:min(len(l.Holders), sitesShown)] {
				rows = append(rows, siteRow(s, l, true))
			}
			for _, s := range l.Waiters[:min(len(l.Waiters), sitesShown)] {
				rows = append(rows, siteRow(s, l, false))
			}
		}
		if err := table(c, []string{"SHARE", "PER CYCLE", "WAIT", "WAITS", "LOCK"}, rows); err != nil {
			return err
		}
	}
	for _, caveat := range found.Caveats {
		say(c.ErrOrStderr(), "note: %s", caveat)
	}
	return nil
}

func lockRow(r *result.Result, l result.Lock) []string {
	return []string{
		render.Percent(l.Share), render.Nanoseconds(l.WaitNsPerCycle), render.Nanoseconds(l.WaitNs), fmt.Sprint(l.Waits),
		l.Name + " (" + l.Kind + ")" + named(r, l.Point, l.Node),
	}
}

func siteRow(s result.LockSite, l result.Lock, holder bool) []string {
	role := "waited for by"
	switch {
	case holder && l.Kind == "channel":
		role = "emptied by"
	case holder:
		role = "held by"
	}
	return []string{"", "", "", "", fmt.Sprintf("  %s %s: %s", role, profile.Site(s), render.Percent(s.Share))}
}

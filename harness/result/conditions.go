package result

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/scenario"
)

// Polling returns which sides' connections polled before their thread slept: "busy polling by
// server and generator", or "" if neither did. Busy polling raises rates, so headline figures must
// show this text.
func (m Manifest) Polling() string {
	var sides []string
	s := &m.Scenario
	if s.Topology.BusyPoll || len(s.Swept("topology.busy_poll")) > 0 {
		sides = append(sides, "server")
	}
	if scenario.Any(s.Workloads, func(w scenario.Workload) bool {
		return w.BusyPoll || len(s.Swept("workload."+w.Name+".busy_poll")) > 0
	}) {
		sides = append(sides, "generator")
	}
	if len(sides) == 0 {
		return ""
	}
	return "busy polling by " + strings.Join(sides, " and ")
}

// Unpublishable returns the reasons why a run must not be published, or nil if it may be: it has
// fewer rounds than its scenario's file requires, or was measured from a tree with uncommitted
// changes.
func (m Manifest) Unpublishable() (reasons []string) {
	if fewer := m.FewerRounds(); fewer != "" {
		reasons = append(reasons, fewer)
	}
	if m.Build.Dirty {
		reasons = append(reasons, "measured from a tree with uncommitted changes")
	}
	return reasons
}

// FewerRounds states that a run has fewer timed rounds than its scenario's file requires, or
// returns "" if it has enough. It also returns a text if this is unknown, because the run did not
// record the number in the file and its command set another number.
func (m Manifest) FewerRounds() string {
	s := &m.Scenario
	switch {
	case s.FileRounds > s.Rounds:
		return fmt.Sprintf("%d rounds instead of the %d of the scenario's file", s.Rounds, s.FileRounds)
	case s.FileRounds == 0 && slices.ContainsFunc(m.Command, isRoundsFlag):
		return fmt.Sprintf("%d rounds by the command line; the number in the scenario's file was not recorded", s.Rounds)
	}
	return ""
}

func isRoundsFlag(arg string) bool { return arg == "--rounds" || strings.HasPrefix(arg, "--rounds=") }

package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/pronybench/prony/harness/hosts"
	"github.com/pronybench/prony/harness/scenario"
)

// hasHosts reports whether the nodes of a scenario, at any of its points, have hosts of their own.
func hasHosts(s *scenario.Scenario) bool {
	return slices.ContainsFunc(s.Plan(), func(p scenario.Point) bool { return p.Topology.Hosts != nil })
}

// enterForHosts has this process begin again in a network namespace of its own if a scenario has hosts, which are made from there. Where
// that is not possible the runs of such scenarios say so in their results. It fails for a scenario with servers on other machines beside one
// with hosts: nothing else can be reached from that namespace.
func enterForHosts(scenarios []*scenario.Scenario, stderr io.Writer) error {
	made := slices.IndexFunc(scenarios, hasHosts)
	if made < 0 {
		return nil
	}
	for _, s := range scenarios {
		if s.Topology.Kind == scenario.Remote {
			return fmt.Errorf("scenario %q has hosts in a network of their own, from where the servers of scenario %q can't be reached: run each with a command of its own",
				scenarios[made].Name, s.Name)
		}
	}
	if err := hosts.Enter(); err != nil {
		say(stderr, "hosts can't be made: %v", err)
	}
	return nil
}

// refuseHosts returns the error of a comparison of a scenario whose nodes have hosts of their own.
func refuseHosts(s *scenario.Scenario) error {
	if !hasHosts(s) {
		return nil
	}
	return fmt.Errorf("scenario %q has hosts, which a comparison does not make: measure it at both revisions with prony run, and compare the two runs: prony compare A B", s.Name)
}

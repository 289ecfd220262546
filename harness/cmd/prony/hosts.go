package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/pronybench/prony/harness/hosts"
	"github.com/pronybench/prony/harness/scenario"
)

func hasHosts(s *scenario.Scenario) bool {
	return slices.ContainsFunc(s.Plan(), func(p scenario.Point) bool { return p.Topology.Hosts != nil })
}

// enterForHosts restarts this process in a new network namespace if a scenario has hosts, which are
// created from there. If that is not possible, the results of such scenarios report it. A scenario
// with hosts excludes one with servers on other machines, which cannot be reached from that
// namespace; both together are an error.
func enterForHosts(scenarios []*scenario.Scenario, stderr io.Writer) error {
	made := slices.IndexFunc(scenarios, hasHosts)
	if made < 0 {
		return nil
	}
	for _, s := range scenarios {
		if s.Topology.Kind == scenario.Remote {
			return fmt.Errorf("scenario %q has hosts in a separate network namespace, which cannot reach the servers of scenario %q: run them with two commands",
				scenarios[made].Name, s.Name)
		}
	}
	if err := hosts.Enter(); err != nil {
		say(stderr, "cannot create hosts: %v", err)
	}
	return nil
}

// refuseHosts returns an error if a scenario has hosts, which a comparison does not support.
func refuseHosts(s *scenario.Scenario) error {
	if !hasHosts(s) {
		return nil
	}
	return fmt.Errorf("scenario %q has hosts, which a comparison does not support: measure it at both revisions with prony run, and compare the two runs: prony compare A B", s.Name)
}

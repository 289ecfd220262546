package main

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// differencesShown bounds the settings that an error names.
const differencesShown = 8

// checkSettings refuses two runs that were measured with different settings: their difference would not be that of the builds. Both
// must have the same scenario name, which the judgement checks, and different names leave the error to the judgement.
func checkSettings(base, change *result.Result) error {
	if base.Scenario != change.Scenario {
		return nil
	}
	all := scenario.Differences(&base.Manifest.Scenario, &change.Manifest.Scenario)
	return refuse(append(all, serverDifferences(base.Manifest.Servers, change.Manifest.Servers, false)...))
}

// checkServers refuses servers of two sides that were started alike on one host and run with different settings. Where neither side sets
// a setting, its value comes from the build and is a part of the change.
func checkServers(base, change []result.ServerSettings) error {
	return refuse(serverDifferences(base, change, true))
}

// refuse returns an error that names differences of settings, or nil without one.
func refuse(all []scenario.Difference) error {
	if len(all) == 0 {
		return nil
	}
	var named []string
	for _, d := range all[:min(len(all), differencesShown)] {
		named = append(named, d.String())
	}
	if more := len(all) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	return fmt.Errorf("the settings of base and change differ: %s: measure both with the same settings, or add --allow-different-settings", strings.Join(named, "; "))
}

// serverDifferences returns the settings that the servers of two sides said other values for. Settings that one of them does not
// have are left out: the builds may have different ones. alike says that the servers were started alike on one host, so that settings which
// were not set by a person are left out too.
func serverDifferences(base, change []result.ServerSettings, alike bool) (all []scenario.Difference) {
	for _, s := range result.BesideSettings(base, change) {
		if s.Differs() && (!alike || !s.OfBuilds()) {
			all = append(all, scenario.Difference{Path: "the server's " + s.Label(), Base: s.Base, Change: s.Change})
		}
	}
	return all
}

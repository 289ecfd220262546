package main

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// differencesShown is the maximum number of settings in an error.
const differencesShown = 8

// checkSettings refuses two runs with different settings, because their difference would not be due
// to the builds. It accepts runs of different scenarios: the judgement reports those.
func checkSettings(base, change *result.Result) error {
	if base.Scenario != change.Scenario {
		return nil
	}
	all := scenario.Differences(&base.Manifest.Scenario, &change.Manifest.Scenario)
	return refuse(append(all, serverDifferences(base.Manifest.Servers, change.Manifest.Servers, false)...))
}

// checkServers refuses servers of two sides that were started the same way on one host and run with
// different settings. If neither side sets a setting, its value comes from the build and is part of
// the change.
func checkServers(base, change []result.ServerSettings) error {
	return refuse(serverDifferences(base, change, true))
}

// refuse returns an error that lists the differences, or nil if there are none.
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

// serverDifferences returns the settings for which the servers of two sides reported different
// values. It skips settings that only one side's build knows. alike is true if the servers were
// started the same way on one host; then it also skips settings that have their defaults.
func serverDifferences(base, change []result.ServerSettings, alike bool) (all []scenario.Difference) {
	for _, s := range result.BesideSettings(base, change) {
		if s.Differs() && (!alike || !s.OfBuilds()) {
			all = append(all, scenario.Difference{Path: "the server's " + s.Label(), Base: s.Base, Change: s.Change})
		}
	}
	return all
}

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
	all = append(all, serverDifferences(base.Manifest.Servers, change.Manifest.Servers)...)
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

// serverDifferences returns the settings that the first servers of two runs said other values for. Settings that one of them does not
// have are left out: the builds may have different ones.
func serverDifferences(base, change []result.ServerSettings) (all []scenario.Difference) {
	if len(base) == 0 || len(change) == 0 {
		return nil // not recorded
	}
	values := map[string]string{}
	for _, s := range base[0].Settings {
		values[s.Name] = s.Value
	}
	for _, s := range change[0].Settings {
		if value, both := values[s.Name]; both && value != s.Value {
			all = append(all, scenario.Difference{Path: "the server's " + s.Name, Base: value, Change: s.Value})
		}
	}
	return all
}

package result

import (
	"cmp"
	"fmt"
	"strings"
)

const (
	durabilityPath = "topology.durability"
	guaranteePath  = "target.guarantee" // of a target: when its servers acknowledge
)

// Durability returns the setting that defines when the server under test acknowledged, or
// "unknown". If a sweep varies the setting, Durability returns all values. The setting must
// accompany every number.
func (m Manifest) Durability() string {
	if swept := m.Scenario.Swept(durabilityPath); len(swept) > 0 {
		return strings.Join(swept, ", ")
	}
	if swept := m.Scenario.SweptTogether(guaranteePath); len(swept) > 0 {
		return strings.Join(swept, ", ")
	}
	return cmp.Or(m.Scenario.Topology.Durability, "unknown")
}

// Revision returns the measured commit, with a mark if the working tree had changes.
func (b Build) Revision() string {
	commit := b.Commit
	if commit == "" {
		commit = "unknown"
	}
	if b.Dirty {
		return fmt.Sprintf("%s (dirty)", commit)
	}
	return commit
}

// Target is a kind of queue server that a driver program measured, as the program describes it.
type Target struct {
	Point     int      `json:"point,omitempty"` // number of its point in a run with a sweep
	Name      string   `json:"name"`            // name in the scenario
	Product   string   `json:"product"`
	Version   string   `json:"version,omitempty"` // of the installed server; "" if none
	Client    string   `json:"client"`            // client library with its version
	Guarantee string   `json:"guarantee"`         // when the servers acknowledge
	Nodes     int      `json:"nodes"`
	Addresses []string `json:"addresses,omitempty"` // of servers that were already running
	// Missing is the reason why the servers could not be started; "" if they could.
	Missing string `json:"missing,omitempty"`
	// Settings are the settings that make the server as fast as possible, with the reasons.
	Settings []TargetSetting `json:"settings,omitempty"`
	// Own are the settings from the scenario, each as "NAME = VALUE".
	Own []string `json:"own_settings,omitempty"`
	// Claim is the statement of the server's documentation on its speed and its losses.
	Claim string `json:"claim,omitempty"`
}

// TargetSetting is one setting of a target, with the reason for it.
type TargetSetting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Because string `json:"because"`
}

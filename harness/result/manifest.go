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

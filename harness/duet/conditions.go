package duet

import (
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Conditions describe a generation: the lengths of its slices and phases, and how its processes are
// assigned to CPUs. Duets with different conditions have different noise, so their figures are not
// comparable.
type Conditions struct {
	SliceMs, ClosedMs, OpenSliceMs float64
	OpenPairs                      int
	CPUs                           string `json:",omitempty"` // "" if the kernel chooses the CPUs
}

// Values of Conditions.CPUs.
const (
	cpusOfSides  = "each side has its own"
	cpusInCommon = "servers and generators have their own"
)

// ConditionsOf returns the conditions under which this program measures a scenario on this host.
func ConditionsOf(s *scenario.Scenario) Conditions { return conditionsOf(ownCPUs(s)) }

func conditionsOf(sets []result.SideCPUs, together bool) Conditions {
	c := Conditions{SliceMs: milliseconds(sliceLength), ClosedMs: milliseconds(closedLength), OpenSliceMs: milliseconds(openLength), OpenPairs: openPairs}
	switch {
	case together:
		c.CPUs = cpusOfSides
	case sets != nil:
		c.CPUs = cpusInCommon
	}
	return c
}

package duet

import (
	"slices"

	"github.com/pronybench/prony/harness/scenario"
)

// pollingWarning reports that the duet ignores the scenario's setting for busy polling.
const pollingWarning = "the scenario asks for busy polling, and a duet measures without it on both sides: polling spends idle time as CPU time, " +
	"so that CPU per cycle would not be what the work costs"

// withoutPolling returns a copy of s without polling, and whether the copy differs from s. With
// polling generators, the CPU time per cycle of identical builds differs by 14 % between
// generations; without polling it differs by 2.4 %.
func withoutPolling(s *scenario.Scenario) (_ *scenario.Scenario, differs bool) {
	quiet := *s
	quiet.Workloads = slices.Clone(s.Workloads)
	differs = s.Topology.BusyPoll
	quiet.Topology.BusyPoll = false
	for i := range quiet.Workloads {
		differs = differs || quiet.Workloads[i].BusyPoll
		quiet.Workloads[i].BusyPoll = false
	}
	quiet.Points = slices.Clone(s.Points)
	for i := range quiet.Points {
		p := &quiet.Points[i]
		p.Topology.BusyPoll, p.Workloads = false, slices.Clone(p.Workloads)
		for k := range p.Workloads {
			differs = differs || p.Workloads[k].BusyPoll
			p.Workloads[k].BusyPoll = false
		}
	}
	return &quiet, differs
}

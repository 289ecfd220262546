package duet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/scenario"
)

func TestFits(t *testing.T) {
	t.Parallel()
	require.NoError(t, Fits(fakeScenario()))
	s := fakeScenario()
	s.Invariants = []scenario.Invariant{{Kind: scenario.Conserved}, {Kind: scenario.Isolated}}
	require.NoError(t, Fits(s))
	for says, spoil := range map[string]func(*scenario.Scenario){
		"a sweep of 1 points":               func(s *scenario.Scenario) { s.Points = []scenario.Point{{}} },
		`its topology "embedded"`:           func(s *scenario.Scenario) { s.Topology.Kind = scenario.Embedded },
		`its topology "none"`:               func(s *scenario.Scenario) { s.Topology.Kind = scenario.NoTopology },
		"2 workloads":                       func(s *scenario.Scenario) { s.Workloads = append(s.Workloads, s.Workloads[0]) },
		"its nodes have separate hosts":     func(s *scenario.Scenario) { s.Topology.Hosts = &scenario.Hosts{} },
		"it has faults":                     func(s *scenario.Scenario) { s.Faults = []scenario.Fault{{}} },
		"it observes its timed rounds":      func(s *scenario.Scenario) { s.Observe = &scenario.Observe{} },
		"it has an attack":                  func(s *scenario.Scenario) { s.Attack = &scenario.Attack{} },
		"its window ends after a number of": func(s *scenario.Scenario) { s.Phases.Tasks = 100 },
		"it has a backlog":                  func(s *scenario.Scenario) { s.Backlog = &scenario.Backlog{} },
		`its driver is "k6"`:                func(s *scenario.Scenario) { s.Workloads[0].Driver = scenario.DriverK6 },
		`workload "main" has no closed`:     func(s *scenario.Scenario) { s.Workloads[0].Arrivals = scenario.Arrivals{Kind: scenario.Open} },
		"no closed loop from producers to":  func(s *scenario.Scenario) { s.Workloads[0].Workers = 0 },
		`workload "main" has reads`:         func(s *scenario.Scenario) { s.Workloads[0].Reads = scenario.Reads{Await: 0.2} },
		`workload "main" has fail`:          func(s *scenario.Scenario) { s.Workloads[0].Fail = 0.2 },
		`workload "main" has delayed tasks`: func(s *scenario.Scenario) { s.Workloads[0].Delay = scenario.Delay{Time: time.Second, Part: 1} },
		`workload "main" has results`:       func(s *scenario.Scenario) { s.Workloads[0].Result = scenario.Results{Size: 64, Part: 1} },
		`workload "main" has extend`:        func(s *scenario.Scenario) { s.Workloads[0].Extend = 0.2 },
		`workload "main" has key`:           func(s *scenario.Scenario) { s.Workloads[0].Key = 0.2 },
		`the invariant "ordered"`:           func(s *scenario.Scenario) { s.Invariants = []scenario.Invariant{{Kind: scenario.Ordered}} },
		"MiB of memory, and the host has":   func(s *scenario.Scenario) { s.Topology.Nodes = 1 << 20 },
	} {
		s := fakeScenario()
		spoil(s)
		assert.ErrorContains(t, Fits(s), says)
		_, _, err := Measure(t.Context(), s, [2]Side{}, Options{Within: time.Second})
		if len(s.Points) == 0 { // Measure calls FitsSweep for sweeps, and a comparison calls Fits
			assert.ErrorContains(t, err, says)
		}
		assert.Error(t, err)
	}
}

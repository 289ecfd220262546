package duet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/scenario"
)

func TestFits(t *testing.T) {
	t.Parallel()
	require.NoError(t, Fits(fakeScenario()))
	s := fakeScenario()
	s.Invariants = []scenario.Invariant{{Kind: scenario.Conserved}, {Kind: scenario.Isolated}}
	require.NoError(t, Fits(s))
	texts := golden.Cases(t, "testdata/fits.golden")
	for name, spoil := range map[string]func(*scenario.Scenario){
		"a sweep":           func(s *scenario.Scenario) { s.Points = []scenario.Point{{}} },
		"embedded":          func(s *scenario.Scenario) { s.Topology.Kind = scenario.Embedded },
		"no topology":       func(s *scenario.Scenario) { s.Topology.Kind = scenario.NoTopology },
		"two workloads":     func(s *scenario.Scenario) { s.Workloads = append(s.Workloads, s.Workloads[0]) },
		"hosts":             func(s *scenario.Scenario) { s.Topology.Hosts = &scenario.Hosts{} },
		"faults":            func(s *scenario.Scenario) { s.Faults = []scenario.Fault{{}} },
		"observe":           func(s *scenario.Scenario) { s.Observe = &scenario.Observe{} },
		"an attack":         func(s *scenario.Scenario) { s.Attack = &scenario.Attack{} },
		"a number of tasks": func(s *scenario.Scenario) { s.Phases.Tasks = 100 },
		"a backlog":         func(s *scenario.Scenario) { s.Backlog = &scenario.Backlog{} },
		"a script":          func(s *scenario.Scenario) { s.Workloads[0].Driver = scenario.DriverK6 },
		"an open load":      func(s *scenario.Scenario) { s.Workloads[0].Arrivals = scenario.Arrivals{Kind: scenario.Open} },
		"no workers":        func(s *scenario.Scenario) { s.Workloads[0].Workers = 0 },
		"reads":             func(s *scenario.Scenario) { s.Workloads[0].Reads = scenario.Reads{Await: 0.2} },
		"fail":              func(s *scenario.Scenario) { s.Workloads[0].Fail = 0.2 },
		"delay":             func(s *scenario.Scenario) { s.Workloads[0].Delay = scenario.Delay{Time: time.Second, Part: 1} },
		"result":            func(s *scenario.Scenario) { s.Workloads[0].Result = scenario.Results{Size: 64, Part: 1} },
		"extend":            func(s *scenario.Scenario) { s.Workloads[0].Extend = 0.2 },
		"key":               func(s *scenario.Scenario) { s.Workloads[0].Key = 0.2 },
		"an invariant":      func(s *scenario.Scenario) { s.Invariants = []scenario.Invariant{{Kind: scenario.Ordered}} },
	} {
		s := fakeScenario()
		spoil(s)
		problem := Fits(s)
		texts.Error(t, name, problem)
		_, _, err := Measure(t.Context(), s, [2]Side{}, Options{Within: time.Second})
		if len(s.Points) == 0 { // Measure calls FitsSweep for sweeps, and a comparison calls Fits
			require.EqualError(t, err, problem.Error())
		}
		assert.Error(t, err)
	}
	s = fakeScenario()
	s.Topology.Nodes = 1 << 20
	assert.ErrorContains(t, Fits(s), "MiB of memory, and the host has")
	_, _, err := Measure(t.Context(), s, [2]Side{}, Options{Within: time.Second})
	assert.ErrorContains(t, err, "MiB of memory, and the host has")
}

package run

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/hosts"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// networks is a scenario with three points: a cluster on this host, one on separate hosts, and one
// with packet loss between the hosts.
func networks() *scenario.Scenario {
	s := cluster()
	s.Sweeps = []scenario.Sweep{{Path: "topology.hosts.loss_percent", Values: []string{"none", "0", "1"}}}
	for i, between := range []*scenario.Hosts{nil, {}, {LossPercent: 1}} {
		p := scenario.Point{Name: s.Sweeps[0].Values[i], Topology: s.Topology, Workloads: s.Workloads}
		p.Topology.Hosts = between
		s.Points = append(s.Points, p)
	}
	return s
}

// A point that the machine cannot measure has no rounds, and the result gives the reason. A run
// without any other point is invalid.
func TestPointsThatCannotBeMeasured(t *testing.T) {
	s := networks()
	r := &runner{scenario: s, points: s.Plan()}
	r.leaveOut(func() hosts.Able { return hosts.Able{Loss: errors.New("no nftables")} })
	assert.Equal(t, []result.NotMeasured{{Point: 3, Name: "1", Why: "loss: no nftables"}}, r.result.NotMeasured)
	assert.Equal(t, []plannedRound{{1, 0, timed}, {2, 1, timed}}, planned(s, r.leftOut))
	r.judgeLeftOut()
	assert.Empty(t, r.result.Reasons)
	assert.Equal(t, []string{"1 is not measured: loss: no nftables"}, r.result.Warnings)

	s.Points, s.Sweeps[0].Values = s.Points[1:], s.Sweeps[0].Values[1:]
	r = &runner{scenario: s, points: s.Plan()}
	asked := 0
	r.leaveOut(func() hosts.Able { asked++; return hosts.Able{Hosts: errors.New("no root")} })
	assert.Equal(t, 1, asked, "the machine is probed once")
	assert.Empty(t, planned(s, r.leftOut))
	r.judgeLeftOut()
	assert.Equal(t, result.Invalid, r.result.Verdict)
	assert.Equal(t, []string{
		"0 is not measured: hosts, and delay between them: no root", "1 is not measured: hosts, and delay between them: no root",
	}, r.result.Reasons)
	require.NoError(t, r.summarise())
	assert.Empty(t, r.result.Points)

	s.Points = nil
	r = &runner{scenario: s, points: s.Plan()}
	r.leaveOut(func() hosts.Able { panic("the probe was called for a scenario without hosts") })
	assert.Empty(t, r.result.NotMeasured)
}

// Costs of points that were left out, and costs relative to them, are unknown.
func TestCostsWithoutAPoint(t *testing.T) {
	s := networks()
	r := &runner{scenario: s, points: s.Plan(), leftOut: map[int]bool{2: true}}
	for point := range 2 {
		r.result.Rounds = append(r.result.Rounds, result.Round{Number: point + 1, Point: point + 1, Metrics: map[string]float64{result.CyclesPerS: float64(100 - 50*point)}})
	}
	costs, err := r.rateCosts()
	require.NoError(t, err)
	require.Len(t, costs, 2)
	assert.InDelta(t, 2, costs[2].Median, 0)
	r.leftOut = map[int]bool{0: true, 2: true}
	costs, err = r.rateCosts()
	require.NoError(t, err)
	assert.Empty(t, costs)
}

// A whole run of a scenario whose hosts this test process may not create within the machine's
// network.
func TestHostsFromTheMachinesNetwork(t *testing.T) {
	t.Parallel()
	s := cluster()
	s.Topology.Hosts = &scenario.Hosts{}
	on := real(t)
	require.NoError(t, os.WriteFile(on.pids, nil, 0o600)) // no server is started
	e := execute(t, s, on)
	assert.Equal(t, result.Invalid, e.result.Verdict)
	require.Len(t, e.result.Reasons, 1)
	assert.Contains(t, e.result.Reasons[0], "not measured: hosts, and delay between them: ")
	assert.Empty(t, e.result.Rounds)
	require.Len(t, e.result.NotMeasured, 1)
}

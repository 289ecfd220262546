package run

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// lossDrain is the drain of rounds that lose tasks: they wait for all of it. No pause of a busy machine
// is longer, so the rounds without a loss drain within it.
const lossDrain = 6 * time.Second

// targeted is a scenario of one short round on targets of the test binary.
func targeted(t *testing.T, names ...string) *scenario.Scenario {
	t.Helper()
	s := small()
	s.Topology = scenario.Topology{
		Kind: scenario.ByProgram, Nodes: 1, Durability: "os", Target: &scenario.TargetServers{Name: names[0], Program: programScript(t)},
	}
	s.Workloads[0].Driver, s.Workloads[0].Connections = scenario.DriverProgram, 2
	s.Invariants = nil
	if len(names) > 1 {
		s.Sweeps = []scenario.Sweep{{Path: "target.name", Values: names}}
		for _, name := range names {
			p, known := s.At([]scenario.Value{{Path: "target.name", Text: name}})
			require.True(t, known)
			p.Name = "name=" + name
			s.Points = append(s.Points, p)
		}
	}
	return s
}

func TestATargetIsMeasured(t *testing.T) {
	t.Parallel()
	s := targeted(t, "good")
	e := executeInside(t, s)
	r := e.result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	m := r.Rounds[0].Metrics
	assert.Positive(t, m[result.CyclesPerS])
	assert.Positive(t, m[result.ClientCPUUsPerCycle])
	assert.Contains(t, m, result.ServerCPUUsPerCycle)
	assert.Contains(t, m, result.ServerCPUCores)
	assert.Positive(t, m[result.ServerRSSMBMax])
	assert.NotContains(t, m, result.StorageSetsPerCycle, "the servers are not Prony's")
	assert.Empty(t, r.Profiles)
	assert.Equal(t, r.Rounds[0].Ledger.Enqueued, r.Rounds[0].Ledger.Completed)
	require.Len(t, r.Manifest.Targets, 1)
	assert.Equal(t, result.Target{
		Name: "good", Product: "Memory", Version: "1.2", Client: "null 1", Guarantee: "os", Nodes: 1,
		Settings: []result.TargetSetting{{Name: "cache", Value: "all", Because: "memory is fast"}}, Claim: "It is fast (its README).",
	}, r.Manifest.Targets[0])
	assert.FileExists(t, filepath.Join(e.folder, logsDir, "program-01.log"))
	assert.Equal(t, "os", r.Manifest.Durability())
}

// A target that loses or refuses tasks is incorrect and has no figures, a missing target is
// skipped, and the others have their figures.
func TestTargetsDoNotSpoilEachOther(t *testing.T) {
	t.Parallel()
	s := targeted(t, "good", "loses", "absent", "full")
	s.Phases.Drain = lossDrain
	e := executeInside(t, s)
	r := e.result
	assert.Equal(t, result.Incorrect, r.Verdict)
	for _, line := range []string{
		"small: target good: Memory 1.2, client null 1, guarantee os, 1 node\n",
		"small: target absent: Memory of an unknown version, client null 1, guarantee os, 1 node\n",
		"small: not measured: Memory is not here: it is not installed: install it\n",
	} {
		assert.Equal(t, 1, strings.Count(e.shown.String(), line), line)
	}
	require.Len(t, r.NotMeasured, 1)
	assert.Equal(t, result.NotMeasured{Point: 3, Name: "name=absent", Why: "Memory is not here: it is not installed: install it"}, r.NotMeasured[0])
	assert.Contains(t, r.Warnings, "name=absent is not measured: Memory is not here: it is not installed: install it")
	require.Len(t, r.Rounds, 3)
	assert.Equal(t, result.Pass, r.Rounds[0].Verdict, "%v", r.Rounds[0].Reasons)
	assert.Equal(t, result.Incorrect, r.Rounds[1].Verdict)
	assert.Positive(t, r.Rounds[1].Ledger.Lost)
	assert.Equal(t, result.Incorrect, r.Rounds[2].Verdict)
	assert.Contains(t, r.Rounds[2].Reasons[0], "enqueues: the queue is full")
	assert.Zero(t, r.Rounds[2].Ledger.Lost)
	points := result.PublishedPoints(r)
	require.Len(t, points, 3)
	assert.Contains(t, points[0].Metrics, result.CyclesPerS)
	assert.NotContains(t, points[1].Metrics, result.CyclesPerS)
	assert.Contains(t, points[1].Metrics, result.Lost)
	assert.NotContains(t, points[2].Metrics, result.CyclesPerS)
	require.Len(t, r.Manifest.Targets, 4)
	assert.Equal(t, "it is not installed: install it", r.Manifest.Targets[2].Missing)
}

// A target whose servers fail is not measured again, and the others continue.
func TestATargetThatFailsEndsAlone(t *testing.T) {
	t.Parallel()
	s := targeted(t, "refuses", "good")
	s.Rounds = 2
	r := executeInside(t, s).result
	assert.Equal(t, result.Misconfigured, r.Verdict)
	var points []int
	for _, round := range r.Rounds {
		points = append(points, round.Point)
	}
	assert.Equal(t, []int{1, 2, 2}, points)
	assert.Contains(t, r.Rounds[0].Reasons[0], "launch: the port is taken")
	assert.Equal(t, result.Pass, r.Rounds[2].Verdict, "%v", r.Rounds[2].Reasons)
	assert.Contains(t, result.PublishedPoints(r)[1].Metrics, result.CyclesPerS)
}

// Tasks that a target loses when its servers are killed are in its ledger, and the load continues
// after the restart.
func TestATargetIsKilled(t *testing.T) {
	t.Parallel()
	s := targeted(t, "good")
	s.Phases.Drain = lossDrain
	forTime(s, time.Second)
	s.Faults = []scenario.Fault{{
		Kind: scenario.FaultKill, Target: scenario.Target{Kind: scenario.TargetAll}, At: 300 * time.Millisecond, For: 200 * time.Millisecond, Times: 1,
	}}
	r := untilRecovered(t, s, func() *result.Result { return executeInside(t, s).result })
	require.Len(t, r.Rounds, 1)
	round := r.Rounds[0]
	require.NotNil(t, round.Faults)
	require.Len(t, round.Faults.Events, 1, "%v", round.Reasons)
	assert.Equal(t, []string{targetNode}, round.Faults.Events[0].Nodes)
	assert.Positive(t, round.Faults.Events[0].AfterPerS)
	assert.Positive(t, round.Faults.FailedCalls)
	assert.NotContains(t, round.Metrics, result.ServerCPUUsPerCycle, "the killed process has taken a part of it")
	assert.Equal(t, round.Ledger.Lost > 0, round.Verdict == result.Incorrect, "the memory loses acknowledged tasks: %v", round.Reasons)
}

func TestTargetsThatCannotBeLaunched(t *testing.T) {
	t.Parallel()
	s := targeted(t, "good")
	s.Topology.Settings = map[string]string{"x": "y"}
	r := executeInside(t, s).result
	assert.Equal(t, result.Misconfigured, r.Verdict)
	require.Len(t, r.Reasons, 1)
	texts := golden.Cases(t, "testdata/targets.golden")
	texts.Equal(t, "a setting", r.Reasons[0])

	s = targeted(t, "unknown")
	r = executeInside(t, s).result
	assert.Equal(t, result.Invalid, r.Verdict, "no point was measured")
	texts.Equal(t, "unknown", strings.Join(r.Reasons, "\n"))

	s = targeted(t, "absent")
	r = executeInside(t, s).result
	assert.Equal(t, result.Invalid, r.Verdict, "no point was measured")

	s = targeted(t, "good")
	s.Topology.Durability = "fsync"
	r = executeInside(t, s).result
	assert.Equal(t, result.Invalid, r.Verdict)
	texts.Equal(t, "no such guarantee", r.Reasons[0])

	s.Topology.Target.Program = filepath.Join(t.TempDir(), "none")
	_, _, err := Execute(t.Context(), s, Options{Out: t.TempDir()})
	texts.Replace(s.Topology.Target.Program, "PROGRAM")
	texts.Error(t, "no program", err)
}

package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/fault"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// faulty is small on a cluster of three nodes with faults.
func faulty(window time.Duration, faults ...scenario.Fault) *scenario.Scenario {
	s := small()
	s.Topology = scenario.Topology{Kind: scenario.Raft, Nodes: 3, Shards: 1, Durability: "none", Listen: "tcp"}
	s.Workloads[0].Batch, s.Workloads[0].InFlight, s.Workloads[0].Idempotent = 8, 1024, true
	// Tasks in flight to a worker when their leader died are handed out again after this time.
	s.Workloads[0].Lease = 2 * time.Second
	forTime(s, window)
	for i := range faults {
		faults[i].Times = 1
	}
	s.Faults = faults
	// The tests of whole rounds do not judge the rate after a fault: other programs may take the
	// CPU at that time.
	s.Limits = []scenario.Limit{{Metric: result.FaultLevelRatio, Min: new(0.0)}}
	return s
}

// cutShort reports whether a round ended before its nodes had recovered from the faults.
func cutShort(r result.Round) bool {
	return slices.ContainsFunc(r.Reasons, func(reason string) bool {
		return strings.Contains(reason, "does not fit into the window") || strings.Contains(reason, "no cycle was acknowledged after the end of the last fault")
	})
}

// untilRecovered executes a scenario with faults. On a busy machine its nodes recover late. While
// that is after the window, untilRecovered repeats the run with twice the window.
func untilRecovered(t *testing.T, s *scenario.Scenario, run func() *result.Result) *result.Result {
	t.Helper()
	r := run()
	for s.Phases.Window < patience && cutShort(r.Rounds[0]) {
		t.Logf("again with twice the window of %s: %v", s.Phases.Window, r.Reasons)
		s.Phases.Window *= 2
		r = run()
	}
	return r
}

// One leader is killed, another is cut off, and a follower is removed: every acknowledged task is
// completed exactly once.
func TestFaultsOfARealCluster(t *testing.T) {
	longtest.Only(t)
	e := execute(t, faulty(12*time.Second,
		scenario.Fault{Kind: scenario.FaultKill, Target: scenario.Target{Kind: scenario.TargetLeader}, At: time.Second, For: 200 * time.Millisecond},
		scenario.Fault{
			Kind: scenario.FaultPartition, Target: scenario.Target{Kind: scenario.TargetLeader}, At: 4 * time.Second, For: time.Second,
			Direction: scenario.DirectionBoth, Mode: scenario.Drop,
		},
		scenario.Fault{Kind: scenario.FaultMembership, Target: scenario.Target{Kind: scenario.TargetFollower}, At: 7 * time.Second, For: 500 * time.Millisecond},
	), real(t))
	require.Equal(t, result.Pass, e.result.Verdict, e.result.Reasons)
	round := e.result.Rounds[0]
	l := round.Ledger
	assert.NotZero(t, l.Completed)
	assert.Zero(t, l.Lost+l.Duplicated+l.Corrupted)
	f := round.Faults
	require.NotNil(t, f)
	require.Len(t, f.Events, 3)
	assert.Len(t, e.server.started(t), 4, "one node was restarted")
	for i, kind := range []string{scenario.FaultKill, scenario.FaultPartition, scenario.FaultMembership} {
		event := f.Events[i]
		assert.Equal(t, kind, event.Kind)
		assert.Len(t, event.Nodes, 1)
		assert.Equal(t, kind != scenario.FaultMembership, event.Nodes[0] == event.Leader)
		assert.Greater(t, event.HealedS, event.BeganS)
	}
	// The nodes notice a killed leader at once, but a cut-off leader only after a timeout.
	cut := f.Events[1]
	assert.Positive(t, cut.FirstAckMs, "nothing is acknowledged without a leader")
	assert.InDelta(t, 100, cut.DipPercent, 1e-9)
	assert.Positive(t, f.BaselinePerS)
	assert.InDelta(t, 120, len(f.Cycles), 1, "partial slots of 100 ms do not count")
	assert.Positive(t, e.result.Metrics[result.FaultFirstAckMsMax].Median)
	assert.Contains(t, e.result.Metrics, result.FailedCalls)
	assert.Contains(t, e.shown.String(), "faults: 3, first cycle after ")
}

func TestFaultThatCannotBeInjectedIsIncorrect(t *testing.T) {
	t.Parallel()
	s := faulty(time.Second,
		scenario.Fault{Kind: scenario.FaultKill, Target: scenario.Target{Kind: scenario.TargetNode, Node: "n9"}, At: 100 * time.Millisecond})
	r := untilRecovered(t, s, func() *result.Result { return execute(t, s, real(t)).result })
	require.Equal(t, result.Incorrect, r.Verdict)
	assert.Contains(t, strings.Join(r.Reasons, "\n"), `the faults could not be injected: fault 1, kill of node("n9"): n9: there is no node "n9"`)
	assert.NotContains(t, r.Metrics, result.FaultFirstAckMsMax, "a fault that did not happen has no figures")
}

func TestScoresBecomeAResult(t *testing.T) {
	series := fault.Series{{At: 0, Total: 0}, {At: time.Second, Total: 1000}, {At: 2 * time.Second, Total: 1000}, {At: 4 * time.Second, Total: 3000}, {At: 5 * time.Second, Total: 4000}}
	event := fault.Event{Kind: "kill", Target: "all()", Nodes: []string{"n1", "n2"}, Leader: "n1", Began: time.Second, Done: time.Second, Healed: 1500 * time.Millisecond}
	outcome := &outcomes{all: []*load.Outcome{{FailedCalls: load.Refusals{Count: 5, First: "connection reset"}, RefusedCompletions: load.Refusals{Count: 2}}}}
	injected := func() *injection {
		return &injection{faults: []scenario.Fault{{}}, series: series, events: []fault.Event{event}}
	}

	texts := golden.Cases(t, "testdata/scores.golden")
	m := &measured{round: result.Round{Number: 3, Verdict: result.Pass}}
	injected().score(outcome, m)
	assert.Equal(t, result.Pass, m.round.Verdict)
	f := m.round.Faults
	require.Len(t, f.Events, 1)
	assert.Equal(t, result.Fault{
		Kind: "kill", Target: "all()", Nodes: []string{"n1", "n2"}, Leader: "n1", BeganS: 1, DoneS: 1, HealedS: 1.5,
		FirstAckMs: 3000, BeforePerS: 1000, RecoveryMs: 3000, Recovered: true, BackSoon: new(false), DipPercent: 100, AfterPerS: 3000 / 3.5, LevelPerS: 1000,
	}, f.Events[0])
	assert.InDelta(t, 0.8, f.RecoveredShare, 0)
	assert.InDelta(t, 1000, f.BaselinePerS, 1e-9)
	assert.Equal(t, uint64(5), f.FailedCalls)
	assert.Equal(t, uint64(2), f.RefusedCompletions)
	texts.Equal(t, "failed calls", strings.Join(m.warnings, "\n"))

	decayed := injected()
	decayed.series = append(series[:3:3], fault.Point{At: 2500 * time.Millisecond, Total: 1300}, fault.Point{At: 5 * time.Second, Total: 1800})
	m = &measured{round: result.Round{Verdict: result.Pass}}
	decayed.score(outcome, m)
	assert.Equal(t, result.Regressed, m.round.Verdict)
	texts.Equal(t, "no recovery", strings.Join(m.round.Reasons, "\n"))
	decayed.ownLevel = true
	m = &measured{round: result.Round{Verdict: result.Pass}}
	decayed.score(outcome, m)
	assert.Equal(t, result.Pass, m.round.Verdict, "the scenario's limit judges it")
	texts.Equal(t, "no recovery with a limit", strings.Join(m.warnings, "\n"))

	dead := injected()
	dead.series = series[:3]
	m = &measured{round: result.Round{Verdict: result.Pass}}
	dead.score(&outcomes{}, m)
	assert.Equal(t, result.Incorrect, m.round.Verdict)
	texts.Equal(t, "no cycle", strings.Join(m.round.Reasons, "\n"))

	idle := injected()
	idle.series = fault.Series{{At: 0, Total: 0}, {At: time.Second, Total: 0}, {At: 4 * time.Second, Total: 10}}
	m = &measured{round: result.Round{Verdict: result.Pass}}
	idle.score(&outcomes{}, m)
	assert.Equal(t, result.Invalid, m.round.Verdict)

	broken := injected()
	broken.err = errors.New("n1: address already in use")
	m = &measured{round: result.Round{Verdict: result.Pass}}
	broken.score(&outcomes{}, m)
	assert.Equal(t, result.Incorrect, m.round.Verdict)
	assert.Len(t, m.round.Faults.Events, 1, "injected faults are in the result")
}

func TestNoFaultIsInjectedWithoutFaults(t *testing.T) {
	h := newInjection(small(), nil)
	m := &measured{}
	h.score(nil, m)
	assert.Nil(t, m.round.Faults)
	require.NoError(t, h.close())
	_, err := h.load(context.Background(), []load.Config{{}}, nil)
	require.Error(t, err, "the error of the load is returned")
}

func TestALimitOfTheScenarioReplacesTheLeastLevel(t *testing.T) {
	t.Parallel()
	s := small()
	assert.False(t, newInjection(s, &topology.Config{}).ownLevel)
	s.Limits = []scenario.Limit{{Metric: result.FaultLevelRatio}}
	assert.True(t, newInjection(s, &topology.Config{}).ownLevel)
}

package run

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// attacked returns a scenario with one point without attackers and one point under attack.
func attacked(kinds ...string) *scenario.Scenario {
	s := small()
	for _, clients := range []int{0, 1} {
		s.Points = append(s.Points, scenario.Point{
			Name: []string{"clients=0", "clients=1"}[clients], Values: []scenario.Value{{Path: "attack.clients", Text: "0"}},
			Topology: s.Topology, Workloads: s.Workloads, Attack: &scenario.Attack{Kinds: kinds, Clients: clients},
		})
	}
	s.Sweeps = []scenario.Sweep{{Path: "attack.clients", Values: []string{"0", "1"}}}
	return s
}

// The ledger does not count the attackers' tasks, and the audit of the store excludes them.
func TestARoundUnderAttack(t *testing.T) {
	t.Parallel()
	s := attacked(scenario.AttackManyQueues, scenario.AttackEmptyTasks)
	e := execute(t, s, real(t))
	// The attackers' process may start after the end of the window.
	for s.Phases.Tasks < 1000*windowTasks && !tried(e.result) {
		s.Phases.Tasks *= 4
		e = execute(t, s, real(t))
	}
	require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
	require.Len(t, e.result.Rounds, 2)
	assert.Empty(t, e.result.Rounds[0].Attacks, "in peace")
	attacks := e.result.Rounds[1].Attacks
	require.Len(t, attacks, 2)
	for _, a := range attacks {
		assert.Positive(t, a.Tries, "%+v", a)
	}
}

// tried reports whether each attack was tried in the last round.
func tried(r *result.Result) bool {
	attacks := r.Rounds[len(r.Rounds)-1].Attacks
	return !slices.ContainsFunc(attacks, func(a result.Attack) bool { return a.Tries == 0 })
}

// A round whose attack failed is invalid.
func TestAnAttackThatFailsIsInvalid(t *testing.T) {
	t.Parallel()
	e := execute(t, attacked("unheard-of"), real(t))
	assert.Equal(t, result.Invalid, e.result.Verdict)
	assert.Contains(t, e.result.Reasons[0], `unknown kind "unheard-of"`)
}

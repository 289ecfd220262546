package duet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Profiles are taken in generations that do not count, after those that do, and each side gets a run folder with them.
func TestProfiledGenerations(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	c := h.conductor(t, Options{Generations: 3})
	c.scenario.Captures, c.scenario.ProfiledRounds = []scenario.Capture{{Kind: "cpu"}}, 2
	text := measured(t, c)
	require.Len(t, c.duet.Generations, 3)
	assert.Contains(t, text, "generation 5 (profiled)")
	assert.Equal(t, []string{"base: no block profile", "change: no block profile"}, c.duet.Warnings)
	pairs := uint64(closedLength / (2 * sliceLength))
	for side, name := range []string{"base", "change"} {
		arm, err := result.ReadArm(name, c.folder.File(name))
		require.NoError(t, err)
		rounds := arm.Result.Rounds
		require.Len(t, rounds, 5)
		for i, r := range rounds {
			assert.Equal(t, i+1, r.Number)
			assert.Equal(t, i >= 3, r.Profiled)
			assert.Equal(t, pairs*2500, r.Cycles)
		}
		g := c.duet.Generations[2].Sides[side]
		assert.InDelta(t, float64(g.ServerCPUNs)/1e3/float64(g.Cycles), rounds[2].Metrics[result.ServerCPUUsPerCycle], 1e-9)
		assert.Equal(t, []result.Covered{{Of: "profile cpu", Cycles: pairs * 2500}}, rounds[4].Covered, "the warm-up is not in it")
		assert.Empty(t, h.both(t, 4)[side].open)
		assert.Equal(t, 1, h.both(t, 4)[side].stops)
		assert.Equal(t, name, arm.Result.Manifest.Build.Commit)
	}
}

// A duet without profiles is a duet all the same.
func TestProfilesThatCannotBeTaken(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	h.unprofiled = errBroken
	c := h.conductor(t, Options{Generations: 2})
	c.scenario.Captures = []scenario.Capture{{Kind: "cpu"}}
	measured(t, c)
	assert.Len(t, c.duet.Generations, 2)
	assert.Contains(t, c.duet.Warnings, "profiled generation 3: base: the load could not go on: the connection broke")
	assert.Len(t, h.parties, 2*(2+1+profiledAgain), "it is tried again, but not for ever")
	for _, p := range h.parties {
		assert.Equal(t, 1, p.stops)
	}
}

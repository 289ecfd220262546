package duet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// The stages and fsyncs of a side cover only the closed phase. The side's run folder has them for
// the causes.
func TestStagesOfTheClosedPhase(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	c := h.conductor(t, Options{Generations: 2})
	c.scenario.Captures = []scenario.Capture{{Kind: "cpu"}}
	measured(t, c)
	slices := float64(closedLength / (2 * sliceLength))
	for side, name := range []string{"base", "change"} {
		arm, err := result.ReadArm(name, c.folder.File(name))
		require.NoError(t, err)
		require.Len(t, arm.Result.Rounds, 3)
		for n := range 2 {
			of, round := c.duet.Generations[n].Sides[side], arm.Result.Rounds[n]
			require.Len(t, of.Stages, 1)
			assert.Equal(t, result.StageApply, of.Stages[0].Name)
			assert.InDelta(t, slices, of.Stages[0].SumMs, 1e-6, "the warm-up and the open phase are not covered")
			assert.Equal(t, of.Stages, round.Stages)
			assert.InDelta(t, slices/float64(of.Cycles), round.Metrics[result.StorageFsyncsPerCycle], 1e-9)
			assert.InDelta(t, 2*slices/float64(of.Cycles), round.Metrics[result.StorageFsyncUsPerCycle], 1e-9)
		}
	}
	assert.Empty(t, c.duet.Warnings[2:], "the fake profiles cause two warnings")
}

// A duet whose counters cannot be read is still measured.
func TestCountersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	h.unread = errBroken
	c := h.conductor(t, Options{Generations: 1})
	measured(t, c)
	g := c.duet.Generations[0]
	assert.Equal(t, result.Pass, g.Verdict)
	for _, s := range g.Sides {
		assert.Nil(t, s.Stages)
		assert.Nil(t, s.PerCycle)
	}
	assert.Equal(t, []string{
		"generation 1: base: the times of its stages are unknown: the connection broke",
		"generation 1: change: the times of its stages are unknown: the connection broke",
	}, c.duet.Warnings)
}

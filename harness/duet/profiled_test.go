package duet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Profiles are taken in generations that do not count, after those that do. Each side has a run
// folder with its profiles.
func TestProfiledGenerations(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	c := h.conductor(t, Options{Generations: 3})
	c.scenario.Captures, c.scenario.ProfiledRounds = []scenario.Capture{{Kind: "cpu"}}, 2
	text := measured(t, c)
	require.Len(t, c.duet.Generations, 3)
	assert.Contains(t, text, "generation 5 (profiled)")
	assert.Equal(t, []string{"base: no block profile", "change: no block profile"}, c.duet.Warnings)
	assert.Contains(t, text, "fake: 2 profiled generations of some 4 s each, in 2m0s at most")
	// The fake does 100,000/s.
	cycles := uint64(closedLength / (2 * sliceLength) * sliceLength * 100_000 / time.Second)
	assert.InDelta(t, 2*(closedLength+2*warmupPairs*sliceLength).Seconds(), c.duet.ProfiledS, 1e-9)
	for side, name := range []string{"base", "change"} {
		arm, err := result.ReadArm(name, c.folder.File(name))
		require.NoError(t, err)
		rounds := arm.Result.Rounds
		require.Len(t, rounds, 5)
		for i, r := range rounds {
			assert.Equal(t, i+1, r.Number)
			assert.Equal(t, i >= 3, r.Profiled)
			assert.Equal(t, cycles, r.Cycles)
		}
		g := c.duet.Generations[2].Sides[side]
		assert.InDelta(t, float64(g.ServerCPUNs)/1e3/float64(g.Cycles), rounds[2].Metrics[result.ServerCPUUsPerCycle], 1e-9)
		assert.Equal(t, []result.Covered{{Of: "profile cpu", Cycles: cycles}}, rounds[4].Covered, "the warm-up is not covered")
		assert.Empty(t, h.both(t, 4)[side].open)
		assert.Equal(t, 1, h.both(t, 4)[side].stops)
		assert.Equal(t, name, arm.Result.Manifest.Build.Commit)
	}
}

// A duet that needs causes has more profiled generations, up to a bound in time.
func TestProfiledGenerationsThatAreNeeded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		needed, captures, want int
		losses                 bool // profiles are for losses only
		// Extra duration of each slice of a profiled generation.
		slow    time.Duration
		warning string
	}{
		"more than the scenario's":             {needed: 6, captures: 1, want: 6},
		"fewer than the scenario's":            {needed: 1, captures: 1, want: 2},
		"none":                                 {captures: 1, want: 2},
		"none without captures":                {needed: 6},
		"none without a loss":                  {captures: 1, losses: true},
		"the number that a loss needs":         {needed: 2, captures: 1, losses: true, want: 2},
		"the number that fits into their time": {needed: 6, captures: 1, want: 3, slow: 800 * time.Millisecond, warning: "3 of 6 profiled generations were measured: more would have taken longer than 2m0s"},
		"two, even if those take too long":     {needed: 6, captures: 1, want: 2, slow: time.Minute, warning: "2 of 6 profiled generations were measured: more would have taken longer than 2m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFakeHost()
			h.slowed = func(generation, _, _ int) time.Duration {
				if generation <= 3 {
					return 0
				}
				return test.slow
			}
			asked := 0
			c := h.conductor(t, Options{Generations: 3, ProfileLosses: test.losses, Profiled: func(d *result.Duet) int {
				asked++
				assert.Len(t, d.Generations, 3)
				return test.needed
			}})
			c.scenario.ProfiledRounds = 2
			if test.captures > 0 {
				c.scenario.Captures = []scenario.Capture{{Kind: "cpu"}}
			}
			measured(t, c)
			assert.Equal(t, min(1, test.captures), asked)
			assert.Len(t, h.parties, 2*(3+test.want))
			if test.slow == 0 {
				length := closedLength
				if test.needed > 0 {
					length = causesLength
				}
				assert.InDelta(t, float64(test.want)*(length+2*warmupPairs*sliceLength).Seconds(), c.duet.ProfiledS, 1e-9)
			}
			if test.warning != "" {
				assert.Contains(t, c.duet.Warnings, test.warning)
			}
		})
	}
}

// A profiled generation that the host disturbed is repeated and does not contribute to the causes.
func TestProfiledGenerationOnABusyHost(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	c := h.conductor(t, Options{Generations: 2})
	c.scenario.Captures, c.scenario.ProfiledRounds = []scenario.Capture{{Kind: "cpu"}}, 2
	begun := 0
	c.signals = func([2]party) func() result.Signals {
		begun++
		busy := begun == 3
		return func() result.Signals {
			if busy {
				return result.Signals{ForeignCPUPercent: new(60.0)}
			}
			return h.signals
		}
	}
	measured(t, c)
	assert.Equal(t, 5, begun)
	require.Len(t, c.duet.Warnings, 3)
	assert.Contains(t, c.duet.Warnings[0], "profiled generation 3: processes that are not of this run used 60")
	arm, err := result.ReadArm("base", c.folder.File("base"))
	require.NoError(t, err)
	var numbers []int
	for _, r := range arm.Result.Rounds {
		numbers = append(numbers, r.Number)
	}
	assert.Equal(t, []int{1, 2, 4, 5}, numbers)
}

// A duet without profiles is still complete.
func TestProfilesThatCannotBeTaken(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	h.unprofiled = errBroken
	c := h.conductor(t, Options{Generations: 2})
	c.scenario.Captures = []scenario.Capture{{Kind: "cpu"}}
	measured(t, c)
	assert.Len(t, c.duet.Generations, 2)
	assert.Contains(t, c.duet.Warnings, "profiled generation 3: base: the load failed: the connection broke")
	assert.Len(t, h.parties, 2*(2+1+profiledAgain), "the number of tries is bounded")
	for _, p := range h.parties {
		assert.Equal(t, 1, p.stops)
	}
}

package profile

import (
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// samplesOf is a round of 1000 cycles with a CPU profile that has these samples of functions.
func samplesOf(number int, functions map[string]int64) PerRound {
	stacks := []stack{{[]string{ownPrefix + "x.steady"}, []int64{400, 4_000_000_000}}}
	for function, n := range functions {
		stacks = append(stacks, stack{[]string{ownPrefix + function, ownPrefix + "x.run"}, []int64{n, n * 10_000_000}})
	}
	return numbered(number, PerRound{Cycles: 1000, Profiles: map[string]*profile.Profile{"cpu": build(cpuTypes(), stacks...)}})
}

// sidesOf returns three rounds of each side, which differ a little.
func sidesOf(base, change map[string]int64) (sides [2][]PerRound) {
	for i, functions := range []map[string]int64{base, change} {
		for round := range 3 {
			of := map[string]int64{}
			for function, n := range functions {
				of[function] = n + int64(round)
			}
			sides[i] = append(sides[i], samplesOf(round, of))
		}
	}
	return sides
}

// differing returns the differences of the CPU profiles in microseconds per cycle, by function.
func differing(t *testing.T, sides [2][]PerRound) map[string]float64 {
	t.Helper()
	deltas, err := Diff(sides[0], sides[1])
	require.NoError(t, err)
	out := map[string]float64{}
	for _, d := range deltas {
		out[d.Function] = (d.Change - d.Base) / 1e3
	}
	return out
}

func TestARenamedFunctionIsNoNewCost(t *testing.T) {
	const was, is = "shard.(*Shard).old", "queue.Renamed"
	renamed := sidesOf(map[string]int64{was: 300}, map[string]int64{is: 301})
	assert.Empty(t, differing(t, renamed))
	all, err := PairUp(renamed[0], renamed[1])
	require.NoError(t, err)
	b := besideOf(t, all, "", "cpu", ownPrefix+was+" → "+ownPrefix+is)
	assert.Equal(t, []stat.Counted{{Value: 3_000_000, Events: 300}, {Value: 3_010_000, Events: 301}, {Value: 3_020_000, Events: 302}}, b.Base)
	assert.Equal(t, 3_010_000.0, b.Change[0].Value)
	require.Len(t, all, 2, "and the function that did not change")
	assert.Equal(t, "shard.(*Shard).old → queue.Renamed", render.Function(ownPrefix+was+result.RenamedTo+ownPrefix+is))

	slower := differing(t, sidesOf(map[string]int64{was: 300}, map[string]int64{is: 360}))
	assert.Equal(t, map[string]float64{ownPrefix + was + " → " + ownPrefix + is: 600}, slower, "the pair takes more")

	other := differing(t, sidesOf(map[string]int64{was: 300}, map[string]int64{is: 450}))
	assert.Equal(t, map[string]float64{ownPrefix + was: -3_010, ownPrefix + is: 4_510}, other, "they differ too much")

	both := differing(t, sidesOf(map[string]int64{was: 300, is: 2}, map[string]int64{is: 300}))
	assert.Equal(t, map[string]float64{ownPrefix + was: -3_010, ownPrefix + is: 2_980}, both, "the base has both")
}

// Each function is in one pair. A move to another package is recognized by the function's name.
func TestTheMostSimilarFunctionsArePaired(t *testing.T) {
	moved := differing(t, sidesOf(map[string]int64{"shard.(*Shard).encode": 390, "shard.gone": 400}, map[string]int64{"queue.encode": 480}))
	assert.Equal(t, map[string]float64{
		ownPrefix + "shard.(*Shard).encode → " + ownPrefix + "queue.encode": 900, ownPrefix + "shard.gone": -4_010,
	}, moved)
	nearest := differing(t, sidesOf(map[string]int64{"a.one": 200, "a.two": 230}, map[string]int64{"b.three": 229, "b.four": 201}))
	assert.Empty(t, nearest)
}

package profile

import (
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

func numbered(number int, r PerRound) PerRound {
	r.Round = number
	return r
}

// besideOf returns the entry with that name, of the servers or the generator.
func besideOf(t *testing.T, all []Beside, node, kind, name string) Beside {
	t.Helper()
	for _, b := range all {
		if b.Node == node && b.Kind == kind && b.Function == name {
			return b
		}
	}
	require.Fail(t, "no such entry", "%s %s %s in %+v", node, kind, name, all)
	return Beside{}
}

// Rounds are paired by their numbers, in any order. Rounds without a partner are ignored.
func TestPairUp(t *testing.T) {
	base := []PerRound{numbered(4, cpuRound(100, 0)), numbered(5, cpuRound(110, 0)), numbered(6, cpuRound(120, 3))}
	change := []PerRound{numbered(6, cpuRound(320, 0)), numbered(7, cpuRound(330, 0)), numbered(4, cpuRound(300, 1))}
	client := cpuRound(40, 0)
	for i := range base {
		base[i].Generator, base[i].GeneratorCovered = client.Profiles, map[string]uint64{"cpu": 2000}
		change[i].Generator = client.Profiles
	}
	all, err := PairUp(base, change)
	require.NoError(t, err)
	hot := besideOf(t, all, "", "cpu", "hot")
	assert.Equal(t, []stat.Counted{{Value: 1_000_000, Events: 100}, {Value: 1_200_000, Events: 120}}, hot.Base)
	assert.Equal(t, []stat.Counted{{Value: 3_000_000, Events: 300}, {Value: 3_200_000, Events: 320}}, hot.Change)
	assert.InDelta(t, 1.1e6+3.1e6, hot.Level(), 1e-3)
	rare := besideOf(t, all, "", "cpu", "rare")
	assert.Equal(t, []stat.Counted{{}, {Value: 30_000, Events: 3}}, rare.Base, "a function without a sample took no time")
	of := besideOf(t, all, result.GeneratorNode, "cpu", "hot")
	assert.InDelta(t, 200_000, of.Base[0].Value, 1e-9, "per cycle of its profile")
	assert.InDelta(t, 400_000, of.Change[0].Value, 1e-9)
	for _, b := range all {
		assert.NotEqual(t, KindLock, b.Kind, "without a block profile")
	}

	blocked := func(number int, wait int64) PerRound {
		return PerRound{Round: number, Cycles: 10, Profiles: map[string]*profile.Profile{"block": build(
			delayTypes(), stack{[]string{"runtime.chansend1", shardPath + "(*Shard).pass", shardPath + "(*Shard).decide"}, []int64{7, wait}},
		)}}
	}
	locks, err := PairUp([]PerRound{blocked(1, 1000), blocked(2, 2000)}, []PerRound{blocked(1, 3000), blocked(2, 4000)})
	require.NoError(t, err)
	require.Len(t, locks, 1)
	assert.Equal(t, []stat.Counted{{Value: 300, Events: 7}, {Value: 400, Events: 7}}, besideOf(t, locks, "", KindLock, "shard.(*Shard).pass").Change)
}

func TestPairUpRefuses(t *testing.T) {
	s := golden.Cases(t, "testdata/pairs.golden")
	two := []PerRound{numbered(1, cpuRound(1, 1)), numbered(2, cpuRound(1, 1))}
	_, err := PairUp(two, two[:1])
	require.ErrorIs(t, err, ErrTooFewRounds)
	s.Error(t, "one pair", err)
	idle := []PerRound{two[0], numbered(2, PerRound{})}
	_, err = PairUp(two, idle)
	require.ErrorIs(t, err, ErrTooFewRounds, "a round without cycles is not paired")
	broken := numbered(2, PerRound{Cycles: 1, Profiles: map[string]*profile.Profile{"cpu": build(delayTypes())}})
	_, err = PairUp(two, []PerRound{two[0], broken})
	s.Error(t, "another type", err)
}

package shard

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPoolWordsKeepTheirParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := poolWord{
			starved: rapid.Uint32().Draw(t, "starved"),
			next:    rapid.IntRange(0, ShardsMax-1).Draw(t, "next"),
			credit:  rapid.IntRange(0, poolCreditMax).Draw(t, "credit"),
		}
		require.Equal(t, w, unpackPool(w.pack()))
	})
}

// What is fed adds up, goes to starved shards only, once each and in turn, and none is left while one is starved.
func TestFeeding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.IntRange(2, ShardsMax).Draw(t, "shards")
		before := poolWord{
			starved: rapid.Uint32Range(0, uint32(1<<shards-1)).Draw(t, "starved"),
			next:    rapid.IntRange(0, shards-1).Draw(t, "next"),
			credit:  rapid.IntRange(0, 1_000).Draw(t, "credit"),
		}
		once := rapid.Bool().Draw(t, "once")
		after := before
		fed, total, last := uint32(0), 0, -1
		after.feed(before.slice(once), shards, func(shard, n int) {
			require.NotZero(t, before.starved&(1<<shard))
			require.Zero(t, fed&(1<<shard))
			require.Positive(t, n)
			turn := (shard - before.next + shards) % shards
			require.Greater(t, turn, last)
			last = turn
			fed |= 1 << shard
			total += n
		})
		require.Equal(t, before.credit, total+after.credit)
		require.Equal(t, before.starved&^fed, after.starved)
		require.True(t, after.starved == 0 || after.credit == 0)
		if once {
			require.LessOrEqual(t, bits.OnesCount32(fed), 1)
		}
		if last >= 0 {
			require.Equal(t, (before.next+last+1)%shards, after.next)
		}
	})
}

func TestSlices(t *testing.T) {
	for _, c := range []struct {
		credit  int
		starved uint32
		want    int
	}{{1, 0b1111, 16}, {16, 0b11, 16}, {64, 0b1111, 16}, {66, 0b1111, 17}, {64, 0b1, 64}, {64, 0, 64}} {
		w := poolWord{credit: c.credit, starved: c.starved}
		assert.Equal(t, c.want, w.slice(false))
		assert.Equal(t, c.credit, w.slice(true))
	}
}

func TestAPoolIsBounded(t *testing.T) {
	p := &pool{subs: make([]*Subscription, 2)}
	require.True(t, p.add(poolCreditMax))
	require.False(t, p.add(1))
	require.Equal(t, 5, p.take(0, 5))
	require.True(t, p.add(5))
	require.Equal(t, poolCreditMax, p.take(1, 1<<40))
	require.Zero(t, p.take(0, 1))
	assert.Equal(t, poolWord{starved: 1}, unpackPool(p.word.Load()))
}

package shard

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPoolWordsKeepTheirParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := poolWord{
			starved: rapid.Uint32().Draw(t, "starved"),
			credit:  rapid.IntRange(0, poolCreditMax).Draw(t, "credit"),
		}
		require.Equal(t, w, unpackPool(w.pack()))
	})
}

// TestFeeding checks that feed preserves the total credit, gives it to starved shards only, and
// leaves none in the pool while a shard is starved.
func TestFeeding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.IntRange(2, ShardsMax).Draw(t, "shards")
		p := &pool{once: rapid.Bool().Draw(t, "once"), subs: make([]*Subscription, shards)}
		for s := range shards {
			p.shares[s].weight.Store(rapid.Int64Range(1, 1_000).Draw(t, "weight"))
			p.shares[s].pass.Store(rapid.Int64Range(-10, 1<<40).Draw(t, "pass"))
		}
		before := poolWord{
			starved: rapid.Uint32Range(0, uint32(1<<shards-1)).Draw(t, "starved"),
			credit:  rapid.IntRange(0, 2_000).Draw(t, "credit"),
		}
		after, given := before, [ShardsMax]int{}
		p.feed(&after, &given)
		fed, total := uint32(0), 0
		for s, n := range given {
			if n != 0 {
				require.Positive(t, n)
				require.NotZero(t, before.starved&(1<<s))
				fed |= 1 << s
				total += n
			}
		}
		require.Equal(t, before.credit, total+after.credit)
		require.Equal(t, before.starved&^fed, after.starved)
		require.True(t, after.starved == 0 || after.credit == 0)
		if p.once {
			require.LessOrEqual(t, bits.OnesCount32(fed), 1)
		}
		if bits.OnesCount32(fed) == 1 {
			for s := range shards {
				if before.starved&(1<<s) != 0 {
					require.LessOrEqual(t, p.shares[bits.TrailingZeros32(fed)].pass.Load(), p.shares[s].pass.Load(), "the shard with the lowest pass is first")
				}
			}
		}
	})
}

func TestPlentyIsDividedByWeight(t *testing.T) {
	p := &pool{subs: make([]*Subscription, 4)}
	for s, weight := range []int64{1, 2, 3, 2} {
		p.shares[s].weight.Store(weight)
	}
	p.shares[1].pass.Store(-1)
	for _, c := range []struct {
		credit int
		want   []int
	}{{800, []int{100, 200, 300, 200}}, {64, []int{8, 16, 24, 16}}, {67, []int{8, 18, 25, 16}}, {63, []int{0, 63, 0, 0}}} {
		w, given := poolWord{starved: 0b1111, credit: c.credit}, [ShardsMax]int{}
		p.feed(&w, &given)
		assert.Equal(t, c.want, given[:4])
	}
}

func TestAPoolIsBounded(t *testing.T) {
	p := &pool{subs: make([]*Subscription, 2)}
	require.True(t, p.add(poolCreditMax))
	require.False(t, p.add(1))
	require.Equal(t, 5, p.take(0, 5, 1))
	require.True(t, p.add(5))
	require.Equal(t, poolCreditMax, p.take(1, 1<<40, 1))
	require.Zero(t, p.take(0, 1, 1))
	assert.Equal(t, poolWord{starved: 1}, unpackPool(p.word.Load()))
}

// trial is a pool whose shards always have tasks. The test decides when each shard uses its credit.
type trial struct {
	*pool
	weights []int
	inboxes []*inbox
	used    []int
}

func newTrial(weights ...int) *trial {
	r := &trial{pool: &pool{}, weights: weights, used: make([]int, len(weights))}
	for range weights {
		s := &Shard{inbox: newInbox(load{tasks: 1, bytes: 1})}
		r.inboxes = append(r.inboxes, s.inbox)
		r.subs = append(r.subs, &Subscription{shard: s})
	}
	for s := range weights {
		r.take(s, 1, weights[s])
	}
	return r
}

// come makes a shard use its credit and ask for more.
func (r *trial) come(shard int) {
	if commands, _, _ := r.inboxes[shard].take(nil); len(commands) > 0 {
		r.take(shard, 1, r.weights[shard])
	}
}

// fed attributes one credit to the shard that is no longer starved.
func (r *trial) fed(before, after poolWord) {
	if s := before.starved &^ after.starved; s != 0 {
		r.used[bits.TrailingZeros32(s)]++
	}
}

// Single credits are shared by weight, independent of how long each shard takes to use its credit.
func TestLittleIsSharedByWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 8), 2, 6).Draw(t, "weights")
		r := newTrial(weights...)
		slow := rapid.IntRange(0, len(weights)-1).Draw(t, "slow")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		const rounds = 100
		sum := 0
		for _, w := range weights {
			sum += w
		}
		for range rounds * sum {
			before := unpackPool(r.word.Load())
			if before.starved == 0 {
				for s := range weights {
					r.come(s)
				}
				before = unpackPool(r.word.Load())
			}
			require.True(t, r.add(1))
			r.fed(before, unpackPool(r.word.Load()))
			for s := range weights {
				if s != slow || rng.IntN(3) == 0 {
					r.come(s)
				}
			}
		}
		for s, w := range weights {
			if s != slow { // the slow shard may have lagged by more than poolLag
				require.GreaterOrEqual(t, float64(r.used[s]), 0.9*float64(rounds*w), "shard %d of %v: %v", s, weights, r.used)
			}
		}
	})
}

// A shard that needed no credit for a long time does not get all the credit that it could have had.
func TestAShardThatComesBackDoesNotStopTheOthers(t *testing.T) {
	r := newTrial(1, 1)
	// Shard 0 needs no credit.
	r.word.Store(poolWord{starved: 0b10}.pack())
	for range 10_000 {
		require.True(t, r.add(1))
		r.come(1)
	}
	require.Zero(t, r.take(0, 1, 1))
	first := 0
	for range 10_000 {
		before := unpackPool(r.word.Load())
		require.True(t, r.add(1))
		after := unpackPool(r.word.Load())
		r.come(0)
		r.come(1)
		if before.starved&^after.starved == 0b10 {
			break
		}
		first++
	}
	assert.InDelta(t, poolLag, first, 2)
}

package duet

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever CPU time the processes use in slices of either side, it counts once: the slices add up
// to the whole.
func TestSlicesAddUpToTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		h := newFakeHost()
		amount := rapid.Custom(func(r *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(0, 5e7).Draw(r, "ns")) })
		h.used = func(bool) clocks { return clocks{amount.Draw(r, "servers"), amount.Draw(r, "generator")} }
		p := pairs{order: rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 1)), now: func() time.Time { return h.clock }}
		for side := range p.parties {
			f := &fakeParty{host: h, side: side}
			h.parties = append(h.parties, f)
			p.parties[side] = f
		}
		require.NoError(t, p.warmUp(t.Context(), warmupPairs))
		assert.Equal(t, warmupPairs, h.parties[Base].slices)
		before, err := p.clocks()
		require.NoError(t, err)
		slices, sides, err := p.measure(t.Context(), rapid.Custom(func(r *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(0, 20).Draw(r, "pairs")) * 2 * sliceLength
		}).Draw(r, "length"))
		require.NoError(t, err)
		for side, f := range h.parties {
			var own, other, client int64
			cycles, active := uint64(0), 0.0
			for _, s := range slices {
				if s.Side == side {
					own, client = own+s.ServerCPUNs, client+s.ClientCPUNs
					cycles, active = cycles+s.Cycles, active+s.Seconds
				} else {
					other += s.OtherCPUNs
				}
			}
			assert.Equal(t, int64(f.now.servers-before[side].servers), sides[side].ServerCPUNs, "all of it")
			assert.Equal(t, int64(f.now.generator-before[side].generator), sides[side].ClientCPUNs)
			assert.Equal(t, sides[side].ServerCPUNs, own+other)
			assert.Equal(t, sides[side].IdleCPUNs, other)
			assert.LessOrEqual(t, client, sides[side].ClientCPUNs)
			assert.Equal(t, cycles, sides[side].Cycles)
			assert.InDelta(t, active, sides[side].ActiveS, 1e-9)
		}
	})
}

// Each pair has one slice per side, and each side is first about equally often.
func TestOrderOfSlices(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	c := h.conductor(t, Options{Generations: 1, Seed: 7})
	measured(t, c)
	slices, first := c.duet.Generations[0].Slices, [2]int{}
	require.Len(t, slices, int(closedLength/sliceLength))
	for i := 0; i < len(slices); i += 2 {
		assert.Equal(t, 1, slices[i].Side+slices[i+1].Side)
		first[slices[i].Side]++
	}
	assert.InDelta(t, first[Base], first[Change], 60, "of 150 each")
	again := newFakeHost()
	b := again.conductor(t, Options{Generations: 1, Seed: 7})
	measured(t, b)
	assert.Equal(t, slices, b.duet.Generations[0].Slices, "the same seed gives the same order")
	b = newFakeHost().conductor(t, Options{Generations: 1, Seed: 8})
	measured(t, b)
	assert.NotEqual(t, slices, b.duet.Generations[0].Slices)
}

// With simultaneous load no slice has CPU time of the other side.
func TestSlicesOfBothAtOnce(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	p := pairs{together: true, order: rand.New(rand.NewPCG(1, 1)), now: func() time.Time { return h.clock }}
	for side := range p.parties {
		own := &fakeHost{clock: h.clock, used: h.used} // each on separate cores
		f := &fakeParty{host: own, side: side}
		own.parties = append(own.parties, f)
		p.parties[side] = f
	}
	var edge [2]clocks
	for range 3 {
		slices, err := p.pair(t.Context(), p.clocks, &edge)
		require.NoError(t, err)
		require.Len(t, slices, 2)
		for side, s := range slices {
			assert.Equal(t, side, s.Side)
			assert.Equal(t, int64(20*time.Millisecond), s.ServerCPUNs)
			assert.Zero(t, s.OtherCPUNs)
		}
	}
}

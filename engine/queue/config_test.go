package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestConfigZeroFieldsMeanTheDefaults(t *testing.T) {
	assert.Equal(t, DefaultConfig(), Config{}.withDefaults())
	assert.Equal(t, uint64(7), Config{LeaseMs: 7}.withDefaults().LeaseMs)
}

func TestBackoffGrowsUpToItsMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Backoff{
			InitialMs:         rapid.Uint64Range(1, 10_000).Draw(t, "first"),
			MultiplierPercent: rapid.Uint32Range(100, 1_000).Draw(t, "multiplier"),
			JitterPercent:     rapid.Uint32Range(1, 100).Draw(t, "jitter"),
		}
		b.MaxMs = rapid.Uint64Range(b.InitialMs, 10_000_000).Draw(t, "most")
		ref := drawID(t).Ref
		attempt := rapid.Uint32Range(1, 1_000).Draw(t, "attempt")

		full := b.InitialMs
		for i := uint32(1); i < attempt && full < b.MaxMs; i++ {
			full = min(full*uint64(b.MultiplierPercent)/100, b.MaxMs)
		}
		wait := b.waitMs(ref, attempt)
		require.LessOrEqual(t, wait, full)
		require.GreaterOrEqual(t, wait, full-full*uint64(b.JitterPercent)/100)
		require.Equal(t, wait, b.waitMs(ref, attempt), "the same task and attempt must give the same wait")
	})
}

func TestBackoffSpreadsTasksThatFailedTogether(t *testing.T) {
	b := DefaultConfig().Backoff
	waits := map[uint64]int{}
	for seq := range uint64(1_000) {
		waits[b.waitMs(Ref{Seq: seq}, 3)]++
	}
	for wait, n := range waits {
		assert.Less(t, n, 20, "%d of 1000 tasks return after %d ms", n, wait)
	}
	other := 0
	for seq := range uint64(1_000) {
		if b.waitMs(Ref{Queue: 1, Seq: seq}, 3) != b.waitMs(Ref{Queue: 2, Seq: seq}, 3) {
			other++
		}
	}
	assert.Greater(t, other, 900, "two queues must not return in step")
}

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

func TestBackoffDoublesUpToItsMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{BackoffMs: rapid.Uint64Range(1, 10_000).Draw(t, "first")}
		c.BackoffMsMax = rapid.Uint64Range(c.BackoffMs, 10_000_000).Draw(t, "most")
		ref := drawID(t).Ref
		attempt := rapid.Uint32Range(1, 1_000).Draw(t, "attempt")

		full := c.BackoffMs
		for i := uint32(1); i < attempt && full < c.BackoffMsMax; i++ {
			full *= 2
		}
		full = min(full, c.BackoffMsMax)
		wait := c.backoffMs(ref, attempt)
		require.LessOrEqual(t, wait, full)
		require.GreaterOrEqual(t, wait, full-full/4, "the jitter takes at most a quarter")
		require.Positive(t, wait)
		require.Equal(t, wait, c.backoffMs(ref, attempt), "the same task and attempt must give the same wait")
	})
}

func TestBackoffSpreadsTasksThatFailedTogether(t *testing.T) {
	c := DefaultConfig()
	waits := map[uint64]int{}
	for seq := range uint64(1_000) {
		waits[c.backoffMs(Ref{Seq: seq}, 3)]++
	}
	for wait, n := range waits {
		assert.Less(t, n, 20, "%d of 1000 tasks return after %d ms", n, wait)
	}
	other := 0
	for seq := range uint64(1_000) {
		if c.backoffMs(Ref{Queue: 1, Seq: seq}, 3) != c.backoffMs(Ref{Queue: 2, Seq: seq}, 3) {
			other++
		}
	}
	assert.Greater(t, other, 900, "two queues must not return in step")
}

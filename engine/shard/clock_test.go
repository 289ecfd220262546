package shard

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// steppedSince is what time.Now gave before somebody set the wall clock forward by so much: its wall reading is
// earlier, its monotonic one is that of now. Time has no way to make one. Its first word holds, while there is a
// monotonic reading, the wall clock's seconds above 30 bits of nanoseconds.
func steppedSince(t *testing.T, forward time.Duration) time.Time {
	t.Helper()
	now := time.Now()
	before := now
	*(*uint64)(unsafe.Pointer(&before)) -= uint64(forward/time.Second) << 30
	require.Equal(t, forward, now.Round(0).Sub(before.Round(0)), "by the wall clock")
	require.Zero(t, now.Sub(before), "by the monotonic clock")
	return before
}

// Leases, delays and times to live are told by this clock: they do not end because somebody sets the wall clock.
func TestClockIsNotTouchedByStepsOfTheWallClock(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		start := steppedSince(t, step)
		now := clockFrom(start)
		assert.InDelta(t, start.UnixMilli(), now(), 60_000, "it goes on from where it was")
	}
}

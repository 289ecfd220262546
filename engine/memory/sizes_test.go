package memory

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Configured sizes override the shares, and the Go runtime gets the remainder.
func TestConfiguredSizesOverrideShares(t *testing.T) {
	const mib = 1 << 20
	before := SharesOf(4<<30, 1, true)
	s := before
	require.NoError(t, s.Apply(Sizes{}, 1, true))
	assert.Equal(t, before, s, "nothing is configured")

	require.NoError(t, s.Apply(Sizes{MemTableBytes: 8 * mib, LogMemTableBytes: 16 * mib, BlockCacheBytes: 256 * mib}, 1, true))
	assert.EqualValues(t, 8*mib, s.MemTableBytes)
	assert.EqualValues(t, 4*mib, s.YoungBytes)
	assert.EqualValues(t, 16*mib, s.LogMemTableBytes)
	assert.EqualValues(t, 256*mib, s.BlockCacheBytes)
	assert.Equal(t, before.GoBytes+4*(64-8)*mib+2*(128-16)*mib-(256-32)*mib, s.GoBytes)

	alone := SharesOf(0, 1, false)
	require.NoError(t, alone.Apply(Sizes{MemTableBytes: 1 << 30, LogMemTableBytes: 16 * mib}, 1, false))
	assert.EqualValues(t, 1<<30, alone.MemTableBytes, "without a memory bound the size is not limited")
	assert.Zero(t, alone.LogMemTableBytes, "a single server has no Raft logs")
	assert.Zero(t, alone.GoBytes)
}

func TestSizesThatTheMemoryHasNoRoomFor(t *testing.T) {
	s := SharesOf(Least, 2, false)
	require.EqualError(t, s.Apply(Sizes{MemTableBytes: 64 << 20}, 2, false),
		"memory of 180 MiB has no room for up to 8 memtables of 64 MiB, 4 MiB of block cache and the rest of the server")
}

func TestTheConfiguredSizesAreNamed(t *testing.T) {
	c := Sizes{MemTableBytes: 1, LogMemTableBytes: 1}
	assert.Equal(t, []string{"storage.memtable_size", "cluster.log_memtable_size"}, c.Paths())
}

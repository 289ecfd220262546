package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A full-size memtable and one being flushed leave the cache its bytes: filters of tables are read
// from their files only once.
func TestMemTablesLeaveRoomInTheCache(t *testing.T) {
	const memTableBytes = 1 << 20
	cache := NewCache(1<<20, memTableBytes, 1)
	s := open(t, vfs.NewMem(), Options{KeyFilters: NewKeyFilters(0), MemTableBytes: memTableBytes, Cache: cache})
	cache.Close()
	defer closeStore(t, s)
	b := s.NewBatch()
	const n = 1_000
	for i := 0; s.db.Metrics().Flush.Count < 6; i += n {
		putKeys(t, b, 10, i, n)
	}
	require.NoError(t, s.Flush())
	require.Eventually(t, func() bool { m := s.db.Metrics(); return m.MemTable.Count == 1 && m.MemTable.ZombieCount <= 1 }, waitMost, waitStep)
	require.GreaterOrEqual(t, s.PebbleMetrics().MemTableBytes, uint64(memTableBytes), "a memtable has its full size")
	look := func() {
		for i := range n {
			_, found := b.FindKey(1, keyNumber(i)+"x", []int64{10})
			require.False(t, found)
		}
	}
	look()
	before := s.PebbleMetrics()
	look()
	after := s.PebbleMetrics()
	assert.Less(t, after.CacheMisses-before.CacheMisses, uint64(n/10))
	assert.Greater(t, after.CacheHits-before.CacheHits, uint64(n))
}

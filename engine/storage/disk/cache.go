package disk

import "github.com/cockroachdb/pebble/v2"

// memTablesCached is the number of full-size memtables of a store that the cache has room for: one
// that takes writes, and one that is being flushed or that Pebble retains for reuse.
const memTablesCached = 2

// NewCache returns a Pebble cache that holds at least blockBytes of blocks while each of the stores
// that share it has at most two memtables. A store with more memtables is about to stall its
// writes, and blocks are evicted to make room for them.
//
// Pebble charges memtables to its cache and evicts blocks for them. A cache smaller than one
// memtable holds no blocks, and each look-up then reads a whole Bloom filter from its file. Blocks
// may use the room of memtables that do not exist at the time. So memtables and blocks together use
// at most blockBytes plus two memtables for each store, or the size of all memtables if that is
// more.
func NewCache(blockBytes int64, memTableBytes uint64, stores int) *pebble.Cache {
	return pebble.NewCache(blockBytes + memTablesCached*int64(memTableBytes)*int64(max(1, stores)))
}

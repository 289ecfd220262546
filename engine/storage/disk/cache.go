package disk

import "github.com/cockroachdb/pebble/v2"

// memTablesCached is the number of full-size memtables per store that the cache has additional room
// for: the memtable that receives writes, and one that is being flushed or that Pebble retains for
// reuse.
const memTablesCached = 2

// NewCache returns a Pebble cache that has room for at least blockBytes of blocks, as long as each
// of the stores that share it has at most two memtables. A store with more memtables will soon
// stall its writes, and blocks are evicted to make room for the memtables.
//
// Pebble charges memtables to its cache and evicts blocks for them. A cache that is smaller than
// one memtable could contain no blocks, and each look-up would read a whole Bloom filter from its
// file. Blocks may also use the room of memtables that do not exist. So memtables and blocks
// together use at most blockBytes plus two memtables per store, or the size of all memtables if
// that is larger.
func NewCache(blockBytes int64, memTableBytes uint64, stores int) *pebble.Cache {
	return pebble.NewCache(blockBytes + memTablesCached*int64(memTableBytes)*int64(max(1, stores)))
}

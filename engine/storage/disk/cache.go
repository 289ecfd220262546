package disk

import "github.com/cockroachdb/pebble/v2"

// memTablesCached is how many memtables of full size a store may have before its cache keeps less than it was asked to keep: one that
// takes writes, and one that is flushed or that Pebble keeps to use again.
const memTablesCached = 2

// NewCache returns a cache of Pebble that keeps at least a number of bytes of blocks, as long as each of the stores that share the cache has
// at most two memtables. A store with more has a write stall ahead, and its blocks give way.
//
// Pebble counts memtables as a part of its cache and evicts blocks for them. A cache that is smaller than one memtable keeps nothing: each
// look-up then reads a whole Bloom filter from its file. Blocks may take the memory of memtables that do not exist at the time, so that memtables
// and blocks together take at most the number of bytes and two memtables of each store, or all memtables.
func NewCache(blockBytes int64, memTableBytes uint64, stores int) *pebble.Cache {
	return pebble.NewCache(blockBytes + memTablesCached*int64(memTableBytes)*int64(max(1, stores)))
}

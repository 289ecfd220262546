package memory

import "fmt"

// Sizes contains the configured sizes, in bytes, of parts of the stores. A size of 0 means that
// SharesOf determines the size.
type Sizes struct {
	MemTableBytes    int64 // size of each memtable of each shard
	LogMemTableBytes int64 // size of each memtable of the Raft logs
	BlockCacheBytes  int64 // size of the block cache of all shards
}

// NamedSize is a size with the name of its setting and its range.
type NamedSize struct {
	Path        string
	At          *int64
	Least, Most int64
}

// Named returns the sizes with their names and ranges. Pebble's memtables must be smaller than 4
// GiB.
func (c *Sizes) Named() []NamedSize {
	return []NamedSize{
		{"storage.memtable_size", &c.MemTableBytes, memTableLeast, 1 << 30},
		{"storage.block_cache_size", &c.BlockCacheBytes, 1 << 20, 1 << 36},
		{"cluster.log_memtable_size", &c.LogMemTableBytes, 2 << 20, 1 << 30},
	}
}

// Paths returns the setting names of the configured sizes.
func (c *Sizes) Paths() (paths []string) {
	for _, s := range c.Named() {
		if *s.At != 0 {
			paths = append(paths, s.Path)
		}
	}
	return paths
}

// Apply sets the configured sizes in the shares of a server with the given number of shards. It
// returns an error if less than a quarter of Total would then remain for the Go runtime.
func (s *Shares) Apply(c Sizes, shards int, clustered bool) error {
	if c == (Sizes{}) {
		return nil
	}
	if c.MemTableBytes > 0 {
		s.MemTableBytes, s.YoungBytes = c.MemTableBytes, c.MemTableBytes/youngPart
	}
	if c.BlockCacheBytes > 0 {
		s.BlockCacheBytes = c.BlockCacheBytes
	}
	if c.LogMemTableBytes > 0 && clustered {
		s.LogMemTableBytes = c.LogMemTableBytes
	}
	if s.Total == 0 {
		return nil
	}
	n := int64(max(1, shards))
	if s.GoBytes = s.goBytes(n); s.GoBytes < s.Total/4 {
		return fmt.Errorf("memory of %d MiB has no room for up to %d memtables of %d MiB, %d MiB of block cache and the rest of the server",
			s.Total>>20, memTablesMax*n, s.MemTableBytes>>20, s.BlockCacheBytes>>20)
	}
	return nil
}

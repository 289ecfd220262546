package storage

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// PebbleMetrics are the metrics of a store's Pebble. Totals count from the opening of the store.
type PebbleMetrics struct {
	Flushes           uint64
	FlushedBytes      uint64 // written to tables by them
	Compactions       uint64
	CompactedBytes    uint64 // written to tables by them
	CompactionSeconds float64
	CompactionDebt    uint64 // bytes to compact until no compaction is due, estimated
	LogBytes          uint64 // written to the write-ahead log; 0 for a replicated store
	MemTableBytes     uint64
	MemTables         uint64
	Tables            uint64
	TableBytes        uint64
	Tombstones        uint64 // in tables and memtables, estimated
	ReadAmplification int    // tables and levels that a lookup may read
	// CacheHits and CacheMisses count reads of blocks of tables, filters included, by all stores that share the cache.
	CacheHits, CacheMisses uint64
	// WriteStalls counts the times that commits waited because flushes or compactions did not keep up. StallSeconds is their
	// total time, including a stall that has not ended.
	WriteStalls  uint64
	StallSeconds float64
	Young        Young
}

// PebbleMetrics returns the current metrics. The store must stay open during the call.
func (s *Store) PebbleMetrics() PebbleMetrics {
	m := s.db.Metrics()
	total := m.Total()
	p := PebbleMetrics{
		Flushes: nonNegative(m.Flush.Count), FlushedBytes: total.TableBytesFlushed,
		Compactions: nonNegative(m.Compact.Count), CompactedBytes: total.TableBytesCompacted,
		CompactionSeconds: m.Compact.Duration.Seconds(), CompactionDebt: m.Compact.EstimatedDebt,
		MemTableBytes: m.MemTable.Size, MemTables: nonNegative(m.MemTable.Count),
		Tables: nonNegative(total.TablesCount), TableBytes: nonNegative(total.TablesSize),
		Tombstones: m.Keys.TombstoneCount, ReadAmplification: m.ReadAmp(),
		CacheHits: nonNegative(m.BlockCache.Hits), CacheMisses: nonNegative(m.BlockCache.Misses),
	}
	if !s.replicated {
		p.LogBytes = m.WAL.BytesWritten
	}
	p.WriteStalls, p.StallSeconds = s.stalls.read()
	p.Young = s.Young()
	return p
}

func nonNegative(n int64) uint64 { return uint64(max(0, n)) }

// writeStalls counts the write stalls of a Pebble, which reports the begin and the end of each. Stalls do not overlap.
type writeStalls struct {
	n       atomic.Uint64
	stalled atomic.Int64 // nanoseconds of stalls that ended
	since   atomic.Int64 // when the current stall began, in nanoseconds after started; 0 without a stall
}

// started is the origin of the times of stalls.
var started = time.Now()

func (s *writeStalls) begin(pebble.WriteStallBeginInfo) {
	s.n.Add(1)
	s.since.Store(int64(time.Since(started)))
}

func (s *writeStalls) end() {
	if since := s.since.Swap(0); since > 0 {
		s.stalled.Add(int64(time.Since(started)) - since)
	}
}

func (s *writeStalls) read() (n uint64, seconds float64) {
	took := s.stalled.Load()
	if since := s.since.Load(); since > 0 {
		took += int64(time.Since(started)) - since
	}
	return s.n.Load(), time.Duration(took).Seconds()
}

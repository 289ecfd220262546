package storage

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// PebbleMetrics has the metrics of a store's Pebble database. Totals count from the opening of the
// store.
type PebbleMetrics struct {
	Flushes           uint64
	FlushedBytes      uint64 // written to tables by flushes
	Compactions       uint64
	CompactedBytes    uint64 // written to tables by compactions
	CompactionSeconds float64
	CompactionDebt    uint64 // estimated bytes to compact until no compaction is due
	LogBytes          uint64 // written to the write-ahead log; 0 for a replicated store
	MemTableBytes     uint64
	MemTables         uint64
	Tables            uint64
	TableBytes        uint64
	Tombstones        uint64 // in tables and memtables, estimated
	ReadAmplification int    // tables and levels that a look-up may read
	// CacheHits and CacheMisses count reads of table blocks, filters included, by all stores that
	// share the cache.
	CacheHits, CacheMisses uint64
	// WriteStalls counts the write stalls: commits wait because flushes or compactions fall behind.
	// StallSeconds is their total time, including a stall that has not ended.
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

// writeStalls counts the write stalls of a Pebble database. Pebble reports the begin and the end of
// each; stalls do not overlap.
type writeStalls struct {
	n       atomic.Uint64
	stalled atomic.Int64 // nanoseconds of stalls that ended
	since   atomic.Int64 // begin of the current stall, in ns after started; 0 without one
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

package storage

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// PebbleMetrics contains the metrics of a store's Pebble database. Totals start at 0 when the store
// is opened.
type PebbleMetrics struct {
	Flushes           uint64
	FlushedBytes      uint64 // written to tables by flushes
	Compactions       uint64
	CompactedBytes    uint64 // written to tables by compactions
	CompactionSeconds float64
	CompactionDebt    uint64 // estimated bytes to compact until no compaction is needed
	LogBytes          uint64 // written to the write-ahead log; 0 for a replicated store
	MemTableBytes     uint64
	MemTables         uint64
	Tables            uint64
	TableBytes        uint64
	Tombstones        uint64 // estimated number of tombstones in tables and memtables
	ReadAmplification int    // number of tables and levels that a look-up may read
	// CacheHits and CacheMisses count the reads of table blocks, including blocks of filters, by
	// all stores that share the cache.
	CacheHits, CacheMisses uint64
	// WriteStalls counts the write stalls. During a write stall, commits wait because flushes or
	// compactions are too slow. StallSeconds is the total duration of the stalls, including a stall
	// that has not ended.
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

// writeStalls counts the write stalls of a Pebble database. Pebble calls begin and end for each
// stall. Stalls do not overlap.
type writeStalls struct {
	n       atomic.Uint64
	stalled atomic.Int64 // total duration of the stalls that have ended, in ns
	since   atomic.Int64 // start of the current stall, in ns after started; 0 if there is no stall
}

// started is the time from which the starts of stalls are measured.
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

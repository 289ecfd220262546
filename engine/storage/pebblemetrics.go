package storage

import (
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// PebbleMetrics are what the store's Pebble says of itself. What is total is since the store was opened.
type PebbleMetrics struct {
	Flushes           uint64
	FlushedBytes      uint64 // written to tables by them
	Compactions       uint64
	CompactedBytes    uint64 // written to tables by them
	CompactionSeconds float64
	CompactionDebt    uint64 // bytes that are to be compacted until nothing is left to do, estimated
	LogBytes          uint64 // written to the write-ahead log; none of a replicated store
	MemTableBytes     uint64
	MemTables         uint64
	Tables            uint64
	TableBytes        uint64
	Tombstones        uint64 // in tables and memtables, estimated
	ReadAmplification int    // tables and levels that a lookup may have to ask
	// WriteStalls is how often commits were held up because flushes or compactions did not keep up, and StallSeconds for how
	// long, one that goes on included.
	WriteStalls  uint64
	StallSeconds float64
}

// PebbleMetrics asks Pebble. The store must be open and stay so meanwhile.
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
	}
	if !s.replicated {
		p.LogBytes = m.WAL.BytesWritten
	}
	p.WriteStalls, p.StallSeconds = s.stalls.read()
	return p
}

func nonNegative(n int64) uint64 { return uint64(max(0, n)) }

// stalls count the times in which Pebble holds commits up. Pebble says that one begins and ends in turn.
type stalls struct {
	n       atomic.Uint64
	stalled atomic.Int64 // nanoseconds, of those that are over
	since   atomic.Int64 // when the one that goes on began, in nanoseconds after start; 0: there is none
}

// started is what stalls count their times from.
var started = time.Now()

func (s *stalls) begin(pebble.WriteStallBeginInfo) {
	s.n.Add(1)
	s.since.Store(int64(time.Since(started)))
}

func (s *stalls) end() {
	if since := s.since.Swap(0); since > 0 {
		s.stalled.Add(int64(time.Since(started)) - since)
	}
}

func (s *stalls) read() (n uint64, seconds float64) {
	took := s.stalled.Load()
	if since := s.since.Load(); since > 0 {
		took += int64(time.Since(started)) - since
	}
	return s.n.Load(), time.Duration(took).Seconds()
}

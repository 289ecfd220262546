package disk

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// Flushes tracks how many committed bytes of a Pebble store are in memory only. Several goroutines
// may call Commit; Pebble calls Begin and End.
type Flushes struct {
	committed, flushed atomic.Uint64
	began              uint64 // bytes committed when the flush under way began
}

// Commit counts the bytes of a batch that is about to be committed.
func (f *Flushes) Commit(bytes int) { f.committed.Add(uint64(bytes)) }

// Committed returns the bytes of all batches so far.
func (f *Flushes) Committed() uint64 { return f.committed.Load() }

// Begin handles Pebble's event FlushBegin.
func (f *Flushes) Begin(pebble.FlushInfo) { f.began = f.committed.Load() }

// End handles Pebble's event FlushEnd.
func (f *Flushes) End(i pebble.FlushInfo) {
	if i.Err == nil {
		f.flushed.Store(f.began)
	}
}

// Unflushed returns approximately how many committed bytes are in no table yet. While memtables
// wait for their flush, it returns the bytes allocated for all memtables. It may miss bytes that
// were committed while a memtable was replaced.
func (f *Flushes) Unflushed(db *pebble.DB) uint64 {
	flushed := f.flushed.Load() // read first, so that it does not exceed committed
	tables := db.Metrics().MemTable
	if tables.Count > 1 {
		return tables.Size
	}
	return min(f.committed.Load()-flushed, tables.Size)
}

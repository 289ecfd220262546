package disk

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// Flushes tracks how many committed bytes of a Pebble store are not in tables yet. Commit is safe
// for concurrent use. Pebble calls Begin and End.
type Flushes struct {
	committed, flushed atomic.Uint64
	began              uint64 // value of committed when the current flush began
}

// Commit adds the bytes of a batch that is about to be committed.
func (f *Flushes) Commit(bytes int) { f.committed.Add(uint64(bytes)) }

// Committed returns the total number of bytes of all batches so far.
func (f *Flushes) Committed() uint64 { return f.committed.Load() }

// Begin handles Pebble's event FlushBegin.
func (f *Flushes) Begin(pebble.FlushInfo) { f.began = f.committed.Load() }

// End handles Pebble's event FlushEnd.
func (f *Flushes) End(i pebble.FlushInfo) {
	if i.Err == nil {
		f.flushed.Store(f.began)
	}
}

// Unflushed returns approximately how many committed bytes are not in tables yet. While full
// memtables wait for their flush, it returns the number of bytes allocated for all memtables. The
// result may exclude bytes that were committed while a memtable was replaced.
func (f *Flushes) Unflushed(db *pebble.DB) uint64 {
	flushed := f.flushed.Load() // read before committed, so that the difference is not negative
	tables := db.Metrics().MemTable
	if tables.Count > 1 {
		return tables.Size
	}
	return min(f.committed.Load()-flushed, tables.Size)
}

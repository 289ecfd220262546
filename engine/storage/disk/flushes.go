package disk

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// Flushes follows what a Pebble holds in memory only. Committed may be called by many goroutines; Begin and End are Pebble's.
type Flushes struct {
	committed, flushed atomic.Uint64
	began              uint64 // bytes committed when the flush under way began
}

// Commit notes a batch of so many bytes that is about to be committed.
func (f *Flushes) Commit(bytes int) { f.committed.Add(uint64(bytes)) }

// Committed returns the bytes of all batches so far.
func (f *Flushes) Committed() uint64 { return f.committed.Load() }

// Begin is for Pebble's event of this name.
func (f *Flushes) Begin(pebble.FlushInfo) { f.began = f.committed.Load() }

// End is for Pebble's event of this name.
func (f *Flushes) End(i pebble.FlushInfo) {
	if i.Err == nil {
		f.flushed.Store(f.began)
	}
}

// Unflushed returns about how many bytes were committed and are in no table yet. While memtables wait for their flush it is what
// is allocated for all of them; what was committed while a memtable was replaced may be left out.
func (f *Flushes) Unflushed(db *pebble.DB) uint64 {
	flushed := f.flushed.Load() // first: it is never ahead of what was committed
	tables := db.Metrics().MemTable
	if tables.Count > 1 {
		return tables.Size
	}
	return min(f.committed.Load()-flushed, tables.Size)
}

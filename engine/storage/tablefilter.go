package storage

import (
	"runtime"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// tableFilter creates the Bloom filters of tables, with 10 bits per key. About one look-up in a
// hundred reads a table unnecessarily.
var tableFilter = tableFilterPolicy{bloom.FilterPolicy(10)}

// yieldKeys is the number of keys that a flush or compaction writes, in about 0.1 ms, before it
// lets other goroutines run.
const yieldKeys = 128

// tableFilterPolicy is a Bloom filter policy whose writers yield the processor. Flushes and
// compactions use a processor for up to seconds, and the runtime preempts them only after 10 ms.
// With one processor, a task would wait that long each time it passes from one goroutine to
// another. The filter writer is the only code outside of Pebble that Pebble calls for each key that
// it writes to a table.
type tableFilterPolicy struct{ bloom.FilterPolicy }

// NewWriter implements pebble.FilterPolicy.
func (p tableFilterPolicy) NewWriter(t pebble.FilterType) pebble.FilterWriter {
	return &tableFilterWriter{FilterWriter: p.FilterPolicy.NewWriter(t)}
}

// levels returns level options whose tables have the filter.
func (p tableFilterPolicy) levels() [7]pebble.LevelOptions {
	var o pebble.Options
	o.Levels[0].FilterPolicy = p // the other levels inherit it
	return o.Levels
}

type tableFilterWriter struct {
	pebble.FilterWriter
	keys int // since the last yield
}

// AddKey implements pebble.FilterWriter.
func (w *tableFilterWriter) AddKey(key []byte) {
	w.FilterWriter.AddKey(key)
	if w.keys++; w.keys == yieldKeys {
		w.keys = 0
		runtime.Gosched()
	}
}
